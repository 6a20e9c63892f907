"""Settings: their declarations, the texts that they accept, and the sources from which they are read."""
