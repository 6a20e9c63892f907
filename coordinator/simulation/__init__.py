"""Whole nodes and clients in virtual time, over simulated disks and networks. One seed reproduces a run."""
