"""`coordinator whatif`: recorded groups, replayed with other settings."""
