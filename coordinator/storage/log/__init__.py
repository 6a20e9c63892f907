"""An append-only log in Kafka's on-disk format, without knowledge of groups: segments, recovery, group commit."""
