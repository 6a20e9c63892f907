"""Embedded topics: a catalogue, partitions, producers, fetches. Pure."""
