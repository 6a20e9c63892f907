// A consumer of @confluentinc/kafka-javascript, spoken to as tests/clients/matrix_members.py describes.
'use strict'

const readline = require('readline')
const { Kafka, ErrorCodes } = require('@confluentinc/kafka-javascript').KafkaJS

const options = Object.fromEntries(process.argv.slice(2).map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]))
const now = () => Number(process.hrtime.bigint()) // CLOCK_MONOTONIC
const say = (event) => process.stdout.write(JSON.stringify({ ...event, at: now() }) + '\n')
const failed = (error) => say({ event: 'error', message: String(error) })

const group = options.protocol === 'consumer'
  ? { 'group.protocol': 'consumer', 'group.remote.assignor': options.assignor === 'range' ? 'range' : 'uniform' }
  : {
      'partition.assignment.strategy': options.assignor,
      'session.timeout.ms': Number(options.session_ms),
      'heartbeat.interval.ms': Number(options.heartbeat_ms)
    }

// One membership, until a command ends it; returns that command.
async function live(commands) {
  const { topic } = options
  const next = new Map()
  const changed = (error, partitions) => {
    const numbers = partitions.map((each) => each.partition)
    if (error.code === ErrorCodes.ERR__ASSIGN_PARTITIONS) {
      say({ event: 'assigned', partitions: numbers })
    } else {
      numbers.forEach((each) => next.delete(each))
      say({ event: 'revoked', partitions: numbers })
    }
  }
  const consumer = new Kafka({}).consumer({
    ...group,
    'bootstrap.servers': options.bootstrap,
    'group.id': options.group,
    'client.id': options.name,
    'enable.auto.commit': options.auto_commit === 'true',
    'auto.offset.reset': 'earliest',
    'fetch.wait.max.ms': Number(options.fetch_ms),
    'topic.metadata.refresh.interval.ms': Number(options.metadata_ms),
    'reconnect.backoff.max.ms': 200,
    ...(options.instance ? { 'group.instance.id': options.instance } : {}),
    log_level: 2,
    rebalance_cb: changed
  })
  await consumer.connect()
  say({ event: 'joining' })
  await consumer.subscribe({ topics: [topic] })
  await consumer.run({
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
