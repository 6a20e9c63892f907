"""Settings: their declarations, the text values they accept, and the sources they are read from."""
