// The program of kafkajs for the security matrix. tests/clients/security_programs.py describes the settings and the lines.
'use strict'

const fs = require('fs')
const { Kafka, logLevel } = require('kafkajs')

const RECORDS = 3
const settings = JSON.parse(process.argv[2])
const say = (event) => process.stdout.write(JSON.stringify(event) + '\n')
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

function tls() {
  if (!settings.ca) return undefined
  const pair = settings.certificate && fs.readFileSync(settings.certificate)
  return { ca: fs.readFileSync(settings.ca), ...(pair && { cert: pair, key: pair }) }
}

function sasl() {
  if (!settings.mechanism) return undefined
  if (settings.mechanism === 'OAUTHBEARER') {
    return { mechanism: 'oauthbearer', oauthBearerProvider: async () => ({ value: fs.readFileSync(settings.token, 'ascii') }) }
  }
  return { mechanism: settings.mechanism.toLowerCase(), username: settings.user, password: settings.password }
}

async function main() {
  const kafka = new Kafka({
    clientId: settings.client_id,
    brokers: [settings.bootstrap],
    ssl: tls(),
    sasl: sasl(),
    reauthenticationThreshold: 500,
    retry: { initialRetryTime: 100, maxRetryTime: 300 },
    logLevel: logLevel.NOTHING
  })
  const producer = kafka.producer()
  const consumer = kafka.consumer({ groupId: settings.group, maxWaitTimeInMs: 100 })
  await producer.connect()
  await consumer.connect()
  let read = 0
  let wanted = RECORDS
  let next
  let done
  const crashed = new Promise((_, reject) => consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error)))
  await consumer.subscribe({ topic: settings.topic, fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ topic, partition, message }) => {
      next = { topic, partition, offset: String(BigInt(message.offset) + 1n) }
      if (++read === wanted) done()
    }
  })
  let until
  for (;;) {
    const all = new Promise((resolve) => { done = resolve })
    for (let sent = 0; sent < RECORDS; sent++) {
      await producer.send({ topic: settings.topic, messages: [{ value: 'value' }] })
    }
    await Promise.race([all, crashed])
    await consumer.commitOffsets([next])
    wanted += RECORDS
    say({ event: 'round' })
    until ??= Date.now() + Number(settings.milliseconds)
    if (Date.now() >= until) break
    await sleep(Number(settings.pause_ms))
  }
  await consumer.disconnect()
  await producer.disconnect()
}

main().then(
  () => {
    say({ event: 'closed' })
    process.exit(0)
  },
  (error) => {
    say({ event: 'error', message: String(error) })
    process.exit(1)
  }
)
