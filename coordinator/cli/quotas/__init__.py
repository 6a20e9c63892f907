"""`coordinator quotas VERB`: client quotas (KIP-546), here and for any Kafka."""
