"""Recorded groups, replayed with other settings through the real core in virtual time (docs/whatif.md)."""
