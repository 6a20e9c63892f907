// A consumer of kafkajs, spoken to as tests/clients/matrix_members.py describes.
'use strict'

const readline = require('readline')
const { Kafka, logLevel } = require('kafkajs')

const options = Object.fromEntries(process.argv.slice(2).map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]))
const now = () => Number(process.hrtime.bigint()) // CLOCK_MONOTONIC
const say = (event) => process.stdout.write(JSON.stringify({ ...event, at: now() }) + '\n')
const failed = (error) => say({ event: 'error', message: String(error) })

// One membership, until a command ends it; returns that command.
async function live(commands) {
  const { topic } = options
  const kafka = new Kafka({
    clientId: options.name,
    brokers: [options.bootstrap],
    logLevel: logLevel.NOTHING,
    retry: { initialRetryTime: 100, maxRetryTime: 1000 }
  })
  // Its default assignor is called RoundRobinAssigner; the library has no range assignor, so it gets one of ours, under the
  // name that all clients share, to be a member of a mixed group.
  const consumer = kafka.consumer({
    groupId: options.group,
    sessionTimeout: Number(options.session_ms),
    heartbeatInterval: Number(options.heartbeat_ms),
    rebalanceTimeout: 20000,
    maxWaitTimeInMs: Number(options.fetch_ms),
    partitionAssigners: [require('./range.js')]
  })
  let owned = []
  const next = new Map()
  const assign = (partitions) => {
    if (owned.length > 0) say({ event: 'revoked', partitions: owned })
    owned = partitions
    next.clear()
    say({ event: 'assigned', partitions })
  }
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => assign(payload.memberAssignment[topic] || []))
  consumer.on(consumer.events.REBALANCING, () => {
    say({ event: 'revoked', partitions: owned })
    owned = []
    next.clear()
  })
  consumer.on(consumer.events.CRASH, ({ payload }) => failed(payload.error))
  await consumer.connect()
  say({ event: 'joining' })
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ partition, message }) => {
      next.set(partition, BigInt(message.offset) + 1n)
      say({ event: 'record', partition, offset: Number(message.offset) })
    }
  })
  let command = await commands()
  for (; command === 'commit'; command = await commands()) {
    const offsets = [...next].map(([partition, offset]) => ({ topic, partition, offset: String(offset) }))
    const begun = now()
    await consumer.commitOffsets(offsets).then(() => say({ event: 'committed', took_ns: now() - begun }), failed)
  }
  say({ event: 'leaving' })
  await consumer.disconnect()
  return command
}

async function main() {
  const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  const commands = async () => {
    const { value, done } = await lines.next()
    return done ? 'close' : value.trim()
  }
  while ((await live(commands)) === 'leave') {
    say({ event: 'left' })
    if ((await commands()) !== 'join') break
  }
  say({ event: 'closed' })
}

main().then(
  () => process.exit(0),
  (error) => {
    failed(error)
    process.exit(1)
  }
)
