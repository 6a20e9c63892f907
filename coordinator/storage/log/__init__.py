"""One append-only log in Kafka's on-disk format: segments, indexes, recovery, group commit. Knows nothing of groups."""
