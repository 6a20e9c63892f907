"""The command `coordinator compact`."""
