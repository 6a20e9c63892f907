"""Snapshots of the state of the offsets log, so that a start reads only the end of the log."""
