"""Snapshots of what the offsets log leaves: how a start comes to need only the end of it."""
