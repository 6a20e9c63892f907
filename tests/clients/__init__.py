"""Real, unmodified Kafka clients against the real daemon: the proof that matters to a user."""
