"""Tests of `protocol`: every message against Kafka's definitions and against bytes that others made."""
