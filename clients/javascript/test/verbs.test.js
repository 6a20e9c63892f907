import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { Kafka, logLevel } from "kafkajs";
import { CoordinatorError, NotInTimeError, start } from "kafka-group-coordinator";

const ASSIGNED = ["orders-0", "orders-1", "orders-2", "orders-3"];
let coordinator;

before(async () => {
  coordinator = await start({ topics: { orders: 4 }, settings: { "group.max.size": 3 } });
});

after(() => coordinator.stop());

/** Start a member of a group. Returns its consumer, and a promise for each join. */
async function join(t, groupId) {
  const kafka = new Kafka({ clientId: groupId, brokers: [coordinator.bootstrapServers], logLevel: logLevel.NOTHING });
  const consumer = kafka.consumer({ groupId, heartbeatInterval: 100 });
  t.after(() => consumer.disconnect());
  await consumer.subscribe({ topic: "orders", fromBeginning: true });
  const joined = () => new Promise((resolve) => consumer.on(consumer.events.GROUP_JOIN, resolve));
  const first = joined();
  await consumer.run({ eachMessage: async () => {} });
  await first;
  return joined;
}

test("a group is described, and a kicked member joins again", async (t) => {
  const joined = await join(t, "kicked");
  const { members, ...group } = await coordinator.waitStable("kicked", { members: 1 });
  assert.deepEqual(group, { group: "kicked", state: "Stable", generation: 1 });
  assert.deepEqual([members[0].clientId, members[0].instanceId, members[0].partitions], ["kicked", null, ASSIGNED]);
  const again = joined();
  await coordinator.kick("kicked");
  await again;
  assert.match(await coordinator.explain("kicked"), /kicked/);
});

test("a session ends when time goes forward", async (t) => {
  const joined = await join(t, "silent");
  await coordinator.waitStable("silent", { members: 1 });
  const again = joined();
  await coordinator.advance(3600);
  await again;
  assert.equal((await coordinator.waitStable("silent", { members: 1 })).members.length, 1);
});

test("commits are there after a crash, and faults are counted", async (t) => {
  await coordinator.produce("orders", ["a", new Uint8Array([0xff, 0x26])], { partition: 1, key: "k" });
  const fault = await coordinator.delay("OffsetCommit", 50, 0, { group: "crashed" });
  await join(t, "crashed");
  await coordinator.waitCommitted("crashed", "orders", 2);
  const [found] = await coordinator.listFaults();
  assert.deepEqual({ ...found, fired: 0 }, fault);
  assert.deepEqual([fault.action, fault.delayMs, fault.times, fault.group, found.fired > 0], ["delay", 50, 0, "crashed", true]);
  const before = await coordinator.committed("crashed");
  await coordinator.crash(0.1);
  assert.deepEqual(await coordinator.committed("crashed"), before);
  await coordinator.removeFault(fault);
  assert.deepEqual(await coordinator.listFaults(), []);
});

test("many records, and all bytes", async () => {
  const all = Uint8Array.from({ length: 256 }, (_, index) => index);
  await coordinator.createTopics({ a_topic: 1 });
  assert.equal(await coordinator.produce("a_topic", Array(300).fill(all)), 0);
  assert.equal(await coordinator.produce("a_topic", ["ü"]), 300);
  await assert.rejects(coordinator.produce("a_topic", [null]), /use a Kafka client/);
});

test("an error is the sentence of the server", async () => {
  await assert.rejects(coordinator.describe("none"), { name: "CoordinatorError", message: /^there is no group 'none' with members/ });
  await assert.rejects(coordinator.waitStable("none", { timeout: 0.05 }), NotInTimeError);
  await assert.rejects(start({ settings: { "group.max.sise": 1 } }), /coordinator ended at its start with 2.*\n.*group\.max\.sise/s);
  await assert.rejects(start({ command: "no-such-program" }), /cannot be started/);
});

test("a fault that was not met is an error, and the server ends all the same", async () => {
  const server = await start();
  await server.failNext("Heartbeat", "NOT_COORDINATOR");
  await assert.rejects(server.stop(), (error) => error instanceof CoordinatorError && /^no request came for: the next HEARTBEAT/.test(error.message));
  await assert.rejects(server.groups(), /does not answer/);
});

test("a token is not in the list of processes", async () => {
  const server = await start({ settings: { "test.verbs.token": "s3cret" } });
  assert.deepEqual(await server.groups(), []);
  const [words] = await new Promise((resolve) => execFile("ps", ["-ww", "-eo", "args"], (...found) => resolve([found[1]])));
  assert.ok(words.includes("--end-with-stdin") && !words.includes("s3cret"));
  await server.stop();
});

test("the server ends with a process that is killed, and lets one end that has not stopped it", async () => {
  const program = `import { start } from "kafka-group-coordinator"; const one = await start(); console.log(one.bootstrapServers);`;
  for (const waits of [true, false]) {
    const code = program + (waits ? "setTimeout(() => {}, 60_000)" : "");
    const child = spawn(process.execPath, ["--input-type=module", "--eval", code], { stdio: ["ignore", "pipe", "inherit"], cwd: new URL(".", import.meta.url) });
    const closed = once(child, "close");
    const [address] = await once(createInterface(child.stdout), "line");
    if (waits) child.kill("SIGKILL");
    await closed;
    await refused(address);
  }
});

/** Wait until an address takes no connection. */
async function refused(address) {
  const [host, port] = address.split(":");
  for (const deadline = Date.now() + 20_000; ; ) {
    const socket = connect(port, host);
    const error = await new Promise((resolve) => socket.once("connect", resolve).once("error", resolve));
    socket.destroy();
    if (error?.code === "ECONNREFUSED") return;
    assert.ok(Date.now() < deadline, `${address} still takes connections`);
  }
}
