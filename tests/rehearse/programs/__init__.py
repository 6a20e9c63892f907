"""Applications whose migration to the consumer protocol goes well, or wrong in a known way."""
