"""The offset at which the log of a partition ends, as an SQL expression that several statements contain."""

from __future__ import annotations


def log_end(partition: str, *, if_empty: str = "0") -> str:
    """Return the expression for the partition that the SQL expression `partition` gives.

    A log whose batches are all deleted ends where the snapshot ends, which covers them.
    """
    return f"""COALESCE(
        (SELECT last + 1 FROM log WHERE log.p = {partition} ORDER BY base DESC LIMIT 1),
        (SELECT next_offset FROM snapshot WHERE snapshot.p = {partition}), {if_empty})"""
