"""Nodes that share a store of the offsets log: who lives, who owns which partition, and for how long."""
