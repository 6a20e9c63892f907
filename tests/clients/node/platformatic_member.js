// A consumer of @platformatic/kafka, spoken to as tests/clients/matrix_members.py describes; it takes no commits.
'use strict'

const readline = require('readline')
const { Consumer, MessagesStreamModes } = require('@platformatic/kafka')

const options = Object.fromEntries(process.argv.slice(2).map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]))
const now = () => Number(process.hrtime.bigint()) // CLOCK_MONOTONIC
const say = (event) => process.stdout.write(JSON.stringify({ ...event, at: now() }) + '\n')
const failed = (error) => say({ event: 'error', message: String(error) })

// One membership, until a command ends it; returns that command.
async function live(commands) {
  const { topic } = options
  const consumer = new Consumer({
    clientId: options.name,
    groupId: options.group,
    bootstrapBrokers: [options.bootstrap],
    sessionTimeout: Number(options.session_ms),
    heartbeatInterval: Number(options.heartbeat_ms),
    rebalanceTimeout: Number(options.session_ms),
    maxWaitTime: Number(options.fetch_ms),
    autocommit: false
  })
  consumer.on('consumer:group:join', ({ assignments }) => {
    const mine = (assignments || []).filter((each) => each.topic === topic)
    say({ event: 'assigned', partitions: mine.flatMap((each) => each.partitions) })
  })
  say({ event: 'joining' })
  const stream = await consumer.consume({ topics: [topic], mode: MessagesStreamModes.EARLIEST })
  stream.on('error', failed)
  stream.on('data', ({ partition, offset }) => say({ event: 'record', partition, offset: Number(offset) }))
  const command = await commands()
  say({ event: 'leaving' })
  await stream.close()
  await consumer.close()
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
