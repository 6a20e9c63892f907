"""Sums over all groups of a node, which the limits for all of them together are compared with.

They change where a member or an offset is added or removed, on the loop's thread. What a thread is loading is added
when it is installed.
"""

from __future__ import annotations


class Totals:
    """Members, the bytes of their metadata, and committed offsets."""

    __slots__ = ("members", "metadata_bytes", "offsets")

    def __init__(self) -> None:
        self.members = 0
        self.metadata_bytes = 0
        self.offsets = 0

    def __repr__(self) -> str:
        return f"<Totals: {self.members} members, {self.metadata_bytes} bytes of metadata, {self.offsets} offsets>"
