"""`coordinator compact`."""
