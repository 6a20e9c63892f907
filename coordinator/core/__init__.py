"""The group coordinator. Pure: the clock, the log and the source of member ids are handed in."""
