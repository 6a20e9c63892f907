// A plain consumer application of @platformatic/kafka. It ends when its stream of records fails.
// The library commits each 500 ms.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

// Releases 2.x need it, and Node 20 does not have it.
Promise.withResolvers ??= () => {
  const made = {}
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }))
  return made
}

// An import does not look in NODE_PATH, and this library has no CommonJS form.
const require = createRequire(import.meta.url)
const { Consumer } = await import(pathToFileURL(require.resolve('@platformatic/kafka', { paths: [process.env.NODE_PATH] })))

const told = process.env

const consumer = new Consumer({
  clientId: told.KAFKA_CLIENT_ID,
  bootstrapBrokers: [told.KAFKA_BOOTSTRAP_SERVERS],
  groupId: told.KAFKA_GROUP_ID,
  sessionTimeout: Number(told.KAFKA_SESSION_TIMEOUT_MS),
  heartbeatInterval: Number(told.KAFKA_HEARTBEAT_INTERVAL_MS),
  rebalanceTimeout: 10000,
  retries: 1,
  retryDelay: 50
})
for (const event of ['consumer:heartbeat:error', 'consumer:group:rejoin', 'consumer:group:join']) {
  consumer.on(event, ({ error } = {}) => console.log(event, error ?? ''))
}
consumer.on('error', (error) => console.error('consumer', error))

const stream = await consumer.consume({
  topics: [told.KAFKA_TOPIC],
  mode: 'committed',
  fallbackMode: 'earliest',
  autocommit: 500,
  maxWaitTime: 200
})
process.once('SIGTERM', () => consumer.close(true).finally(() => process.exit(0)))

for await (const message of stream) {
  void message // processed
}
