"""Client quotas (KIP-13, KIP-124, KIP-219, KIP-546, KIP-612): their rules, their document and their enforcement."""
