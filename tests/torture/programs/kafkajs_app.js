// A plain consumer application of kafkajs: it commits after each record. `kafkajs` is looked for in NODE_PATH.
'use strict'

const { Kafka } = require('kafkajs')

const told = process.env

async function main() {
  const kafka = new Kafka({ clientId: told.KAFKA_CLIENT_ID, brokers: [told.KAFKA_BOOTSTRAP_SERVERS] })
  const consumer = kafka.consumer({
    groupId: told.KAFKA_GROUP_ID,
    sessionTimeout: Number(told.KAFKA_SESSION_TIMEOUT_MS),
    heartbeatInterval: Number(told.KAFKA_HEARTBEAT_INTERVAL_MS),
    rebalanceTimeout: 10000,
    maxWaitTimeInMs: 200
  })
  process.once('SIGTERM', () => consumer.disconnect().finally(() => process.exit(0)))
  await consumer.connect()
  await consumer.subscribe({ topic: told.KAFKA_TOPIC, fromBeginning: true })
  await consumer.run({ autoCommitThreshold: 1, eachMessage: async () => {} })
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
