"""Metrics that clients push (KIP-714): their subscriptions, the newest figures of each client, and OTLP out."""
