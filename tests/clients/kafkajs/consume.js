// A kafkajs member: joins, reads COUNT records, commits what it read, leaves, and says so in one JSON line.
// Usage: node consume.js BROKER GROUP TOPIC COUNT [value to produce first ...]
'use strict'

const { Kafka, logLevel } = require('kafkajs')

async function main([broker, group, topic, count, ...values]) {
  const kafka = new Kafka({ clientId: 'kafkajs', brokers: [broker], logLevel: logLevel.ERROR })

  if (values.length > 0) {
    const producer = kafka.producer()
    await producer.connect()
    await producer.send({ topic, messages: values.map((value) => ({ value })) })
    await producer.disconnect()
  }

  const consumer = kafka.consumer({ groupId: group, sessionTimeout: 6000, heartbeatInterval: 300, maxWaitTimeInMs: 100 })
  const joined = []
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => joined.push(payload.memberAssignment))
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  const received = []
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
    consumer
      .run({
        autoCommit: false,
        eachMessage: async ({ partition, message }) => {
          received.push({ partition, offset: message.offset, value: message.value.toString() })
          if (received.length === Number(count)) resolve()
        }
      })
      .catch(reject)
  })
  const next = new Map()
  for (const { partition, offset } of received) next.set(partition, BigInt(offset) + 1n)
  await consumer.commitOffsets([...next].map(([partition, offset]) => ({ topic, partition, offset: String(offset) })))
  await consumer.disconnect()

  const admin = kafka.admin()
  await admin.connect()
  const committed = await admin.fetchOffsets({ groupId: group, topics: [topic] })
  const described = await admin.describeGroups([group])
  await admin.disconnect()
  console.log(JSON.stringify({ received, joined, committed: committed[0].partitions, state: described.groups[0].state }))
}

main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error) => {
    console.error(error)
    process.exit(1)
  }
)
