"""Small documents: users, access rules, quotas. They are in the data directory of a node, or in a shared store."""
