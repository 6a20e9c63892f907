"""A rehearsal of a migration: an application under both group protocols, and what it does wrong on the way."""
