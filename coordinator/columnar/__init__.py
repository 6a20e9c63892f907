"""Kafka log segments as numpy and Arrow columns; shared by compaction and history."""
