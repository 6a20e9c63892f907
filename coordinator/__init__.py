"""A Kafka-compatible consumer-group coordinator. Read docs/architecture.md first, then `core/coordinator.py`."""
