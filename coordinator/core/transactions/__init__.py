"""The transaction coordinator (KIP-98, KIP-890): transactional ids, their producers and their transactions. Pure."""
