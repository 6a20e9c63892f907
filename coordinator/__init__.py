"""A Kafka-compatible consumer-group coordinator. Start with docs/architecture.md, then `core/coordinator.py`."""
