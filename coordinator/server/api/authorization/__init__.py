"""The checks of access rules at each API, in the order and with the error codes of Kafka's `KafkaApis`."""
