"""Verdicts about groups: what a group is now and why, from its story alone."""
