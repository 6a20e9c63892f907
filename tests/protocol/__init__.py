"""Tests of `protocol`: every message against Kafka's definitions and the bytes of other implementations."""
