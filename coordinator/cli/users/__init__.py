"""`coordinator users VERB`: users with passwords (KIP-554), here and for any Kafka."""
