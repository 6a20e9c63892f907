"""The messages of the Kafka protocol, one module per API. Nothing is imported here: take what you need."""
