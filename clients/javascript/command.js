// The command of a test server: a program on this machine, or a container.

import { createServer } from "node:net";

const SERVE = ["serve", "--profile", "test", "--end-with-stdin", "--data-dir", ":memory:"];
const SECRET = /password|secret|token|jaas|keystore\.key/;

/** Return the words of the command, and the addresses if they are known before the start. */
export async function commandOf({ command, binary, image }, topics, settings) {
  const { COORDINATOR_BINARY, COORDINATOR_IMAGE } = process.env;
  const isOpen = !command && !binary && !image;
  binary ??= isOpen ? COORDINATOR_BINARY : undefined;
  image ??= isOpen && !binary ? COORDINATOR_IMAGE : undefined;
  const words = [...SERVE];
  for (const [name, partitions] of Object.entries(topics)) words.push("--topic", `${name}:${partitions}`);
  for (const [key, value] of Object.entries(settings)) {
    if (!SECRET.test(key)) words.push("--override", `${key}=${value}`);
  }
  if (image) return container(image, words, Object.keys(hiddenSettings(settings)));
  const listen = "listeners" in settings ? [] : ["--listen", "127.0.0.1:0"];
  const program = binary ? [binary] : [command ?? "coordinator"].flat();
  return { words: [...program, ...words, ...listen, "--http", "127.0.0.1:0"] };
}

/** Return the settings that no other user of the machine may read in a list of processes, as variables. */
export function hiddenSettings(settings) {
  const hidden = Object.entries(settings).filter(([key]) => SECRET.test(key));
  return Object.fromEntries(hidden.map(([key, value]) => [variableOf(key), `${value}`]));
}

function variableOf(key) {
  return `COORDINATOR_${key.replace(/_/g, "__").replace(/-/g, "___").replace(/\./g, "_").toUpperCase()}`;
}

/** The container publishes two ports, under the numbers that it has inside: it tells them to its clients. */
async function container(image, words, variables) {
  const [port, httpPort] = await freePorts(2);
  const run = ["docker", "run", "--rm", "--interactive", "--entrypoint", "coordinator"];
  for (const each of [port, httpPort]) run.push("--publish", `127.0.0.1:${each}:${each}`);
  for (const each of ["COORDINATOR_TEST_VERBS_TOKEN", ...variables]) run.push("--env", each);
  const bootstrapServers = `127.0.0.1:${port}`;
  words.push("--listen", `0.0.0.0:${port}`, "--advertised", bootstrapServers, "--http", `0.0.0.0:${httpPort}`);
  const addresses = { bootstrapServers, url: `http://127.0.0.1:${httpPort}/test/` };
  return { words: [...run, image, ...words], addresses };
}

async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer());
  await Promise.all(servers.map((each) => new Promise((resolve) => each.listen(0, "127.0.0.1", resolve))));
  const ports = servers.map((each) => each.address().port);
  await Promise.all(servers.map((each) => new Promise((resolve) => each.close(resolve))));
  return ports;
}
