"""Embedded topics: a catalogue, partitions, producers, fetches. Pure; `coordinator.topic_io` does what needs a disk."""
