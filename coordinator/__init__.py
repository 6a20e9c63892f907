"""The server: a Kafka-compatible consumer-group coordinator. Start with docs/architecture.md, then `core.py`."""
