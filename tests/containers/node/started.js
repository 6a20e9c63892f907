// Starts the image by Testcontainers' module for Node: `started.js KIND...`; see python/started.py.
const { once } = require("node:events");
const { createInterface } = require("node:readline");
const { KafkaContainer } = require("@testcontainers/kafka");
const { Network } = require("testcontainers");

async function main(kinds) {
  const lines = createInterface({ input: process.stdin });
  for (const kind of kinds) {
    const network = await new Network().start();
    const container = new KafkaContainer("kafka-group-coordinator:0.1.0");
    const kafka = await container.withNetwork(network).start();
    const bootstrap = `${kafka.getHost()}:${kafka.getMappedPort(9093)}`;
    console.log("started", kind, bootstrap, `${kafka.getHostname()}:9092`, network.getName());
    await once(lines, "line");
    await kafka.stop();
    await network.stop();
  }
  lines.close();
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
