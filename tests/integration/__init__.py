"""The daemon from outside, over raw sockets: order, limits, bad input, start and stop."""
