"""Committed offsets: the log that keeps them, the store that is built from it, and when they expire."""
