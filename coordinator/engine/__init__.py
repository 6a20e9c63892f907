"""Engines: stores of the offsets log that several nodes share, and the membership of these nodes."""
