// `start` starts a test server, as a child process that ends with this one.

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";

import { CoordinatorError } from "./ask.js";
import { commandOf, hiddenSettings } from "./command.js";
import { Verbs } from "./verbs.js";

export { CoordinatorError, NotInTimeError } from "./ask.js";
export { Verbs } from "./verbs.js";

const REMEDY = "pip install kafka-group-coordinator, or name a binary or an image";
const LINES_QUOTED = 30;
const STOP_MS = 20_000;

/** A running test server. Its verbs are those of `Verbs`. */
export class Coordinator extends Verbs {
  #server;

  constructor(server, { bootstrapServers, url, token }) {
    super(url, token);
    this.#server = server;
    this.bootstrapServers = bootstrapServers;
  }

  /** The last lines that the server wrote. */
  get log() {
    return this.#server.lines.join("\n");
  }

  /** Stop the server. Rejects if it had ended before, or if a fault was asked for that no request has met. */
  async stop() {
    const server = this.#server;
    if (server.isStopped) return;
    server.isStopped = true;
    const code = server.process.exitCode ?? server.process.signalCode;
    if (code !== null) throw new CoordinatorError(`the coordinator had ended with ${code}; it said:\n${this.log}`);
    try {
      await this.checkFaults();
    } finally {
      await server.end();
    }
  }
}

/**
 * Start a test server. Resolves when clients can use it.
 *
 * It is `command`, or the file `binary`, or a container of `image`; else what COORDINATOR_BINARY or COORDINATOR_IMAGE
 * in the environment says, and else `coordinator` in the PATH.
 */
export async function start({ topics = {}, settings = {}, startTimeout = 60, ...server } = {}) {
  const token = settings["test.verbs.token"] ?? randomUUID();
  const command = await commandOf(server, topics, settings);
  const running = new Server(command.words, { ...hiddenSettings(settings), COORDINATOR_TEST_VERBS_TOKEN: token });
  const found = await running.ready(startTimeout);
  return new Coordinator(running, { ...found, ...command.addresses, token });
}

/** The process, and what it writes. It ends when its stdin does, so also when this process is killed. */
class Server {
  lines = [];
  isStopped = false;

  constructor([program, ...words], environment) {
    const { COORDINATOR_BINARY, COORDINATOR_IMAGE, ...inherited } = process.env;
    this.command = [program, ...words].join(" ");
    this.process = spawn(program, words, { env: { ...inherited, PYTHONUNBUFFERED: "1", ...environment } });
    this.ended = new Promise((resolve) => this.process.once("close", resolve).once("error", resolve));
    this.process.stdin.on("error", () => {}); // it has ended, and `ended` says so
  }

  /** Wait until the server says its addresses. */
  ready(seconds) {
    return new Promise((resolve, reject) => {
      const found = {};
      const fail = (problem) => {
        clearTimeout(timer);
        this.process.kill("SIGKILL");
        const said = this.lines.length ? `; it said:\n${this.lines.join("\n")}` : "";
        reject(new CoordinatorError(`${this.command}: ${problem}${said}`));
      };
      const timer = setTimeout(fail, seconds * 1000, `the coordinator was not ready within ${seconds} s`);
      this.process.once("error", (error) => fail(`cannot be started (${error.message}); ${REMEDY}`));
      this.ended.then(() => fail(`the coordinator ended at its start with ${this.process.exitCode}`));
      const read = (line) => {
        this.lines = [...this.lines, line].slice(-LINES_QUOTED);
        found.url ??= /^verbs on (\S+)$/.exec(line)?.[1];
        found.bootstrapServers ??= /^listening on (?:\S+:\/\/)?([^\s,]+)/.exec(line)?.[1];
        if (found.url && found.bootstrapServers) {
          clearTimeout(timer);
          this.#unreference();
          resolve(found);
        }
      };
      for (const stream of [this.process.stdout, this.process.stderr]) forEachLine(stream, read);
    });
  }

  /** Close its stdin, and wait for its end. */
  async end() {
    this.process.ref();
    this.process.stdin.end();
    const timer = setTimeout(() => this.process.kill("SIGKILL"), STOP_MS);
    await this.ended;
    clearTimeout(timer);
  }

  /** Let this process end although the server runs: the server ends then, too. */
  #unreference() {
    for (const each of [this.process, this.process.stdin, this.process.stdout, this.process.stderr]) each.unref();
  }
}

function forEachLine(stream, read) {
  let rest = "";
  stream.setEncoding("utf8").on("data", (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    lines.forEach(read);
  });
}
