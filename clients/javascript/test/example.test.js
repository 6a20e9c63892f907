import assert from "node:assert/strict";
import test from "node:test";
import { Kafka, logLevel } from "kafkajs";
import { start } from "kafka-group-coordinator";

test("a refused commit is repeated", async (t) => {
  const coordinator = await start({ topics: { orders: 1 } });
  const kafka = new Kafka({ brokers: [coordinator.bootstrapServers], logLevel: logLevel.NOTHING });
  const consumer = kafka.consumer({ groupId: "shop" });
  t.after(async () => {
    await consumer.disconnect();
    await coordinator.stop();
  });
  await coordinator.produce("orders", ["one", "two"]);
  await coordinator.failNext("OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS");
  const handled = [];
  await consumer.subscribe({ topic: "orders", fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ topic, partition, message }) => {
      handled.push(`${message.value}`);
      await consumer.commitOffsets([{ topic, partition, offset: `${Number(message.offset) + 1}` }]);
    },
  });
  assert.deepEqual(await coordinator.waitCommitted("shop", "orders", 2), { "orders-0": 2 });
  assert.deepEqual(handled, ["one", "two"]);
});
