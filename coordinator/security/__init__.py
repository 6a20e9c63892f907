"""Principals, and the ways to prove one: TLS, SASL, credentials."""
