"""A shared store of the offsets log on PostgreSQL: log, claims, snapshots, and the directory of nodes."""
