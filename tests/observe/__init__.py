"""Tests of what is told of a foreign Kafka's groups from its offsets log."""
