"""The group coordinator. It does no I/O: the clock, the log and the source of member ids are passed in."""
