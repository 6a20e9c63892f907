"""`coordinator history`."""
