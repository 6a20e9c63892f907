"""The assignors of KIP-848 groups, which run in the coordinator."""
