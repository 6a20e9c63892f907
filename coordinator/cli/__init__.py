"""The command line: one file per command, imported only when it is the command asked for."""
