"""Small documents of a node in its data directory: users, access rules, quotas."""
