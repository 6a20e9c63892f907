"""Engines: stores of the offsets log that several nodes share."""
