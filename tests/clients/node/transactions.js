// The program of kafkajs for the matrix of transactions. tests/clients/transactions_programs.py describes what it is told
// and what it says.
'use strict'

const readline = require('readline')
const { Kafka, logLevel } = require('kafkajs')

const [bootstrap, topic, transactionalId, timeout] = process.argv.slice(2)
const kafka = new Kafka({
  clientId: transactionalId,
  brokers: [bootstrap],
  retry: { initialRetryTime: 100, maxRetryTime: 1000, retries: 30 },
  logLevel: logLevel.NOTHING
})
const producer = kafka.producer({
  transactionalId,
  idempotent: true,
  maxInFlightRequests: 1,
  transactionTimeout: Number(timeout)
})
let transaction = null

const acts = {
  // The first transaction takes the epoch.
  init: async () => {
    await producer.connect()
    transaction = await producer.transaction()
  },
  begin: async () => { transaction ??= await producer.transaction() },
  send: async (partition, value) => {
    await transaction.send({ topic, acks: -1, messages: [{ partition: Number(partition), value }] })
  },
  offsets: async (consumerGroupId, offset) => {
    await transaction.sendOffsets({ consumerGroupId, topics: [{ topic, partitions: [{ partition: 0, offset }] }] })
  },
  commit: async () => { await end('commit') },
  abort: async () => { await end('abort') }
}

async function end(how) {
  const ending = transaction
  transaction = null
  await ending[how]()
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [act, ...words] = line.split(' ')
    try {
      await acts[act](...words)
      process.stdout.write('ok\n')
    } catch (error) {
      process.stdout.write(`error ${String(error).replaceAll('\n', ' ')}\n`)
    }
  }
  process.exit(0)
}

main()
