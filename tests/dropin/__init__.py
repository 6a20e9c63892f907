"""The Kafka tests of other projects, run against this server and against a real Kafka: `make drop-in`."""
