"""One scripted request and its answer."""

from __future__ import annotations

from typing import Any

from protocol.error_codes import ErrorCode

NEWEST = {"join": 9, "sync": 5, "heartbeat": 4, "leave": 5, "commit": 9, "fetch": 9}
Offsets = dict[tuple[str, int], int]


class Call:
    """One request: where its answer will be found."""

    def __init__(self, api: str, version: int) -> None:
        self.api = api
        self.version = version
        self.answer: Any = None
        self.answered_at_ms = -1

    @property
    def is_parked(self) -> bool:
        return self.answer is None

    @property
    def error(self) -> ErrorCode:
        """Return the error at the top of an answer."""
        assert self.answer is not None, f"{self.api} v{self.version} has no answer yet"
        return ErrorCode(self.answer.error_code)

    @property
    def errors(self) -> dict[tuple[str, int], ErrorCode]:
        """Return the errors of an answer, one for each partition."""
        return {
            (topic.name, partition.partition_index): ErrorCode(partition.error_code)
            for topic in self.answer.topics
            for partition in topic.partitions
        }

    def __repr__(self) -> str:
        return f"<Call {self.api} v{self.version}: {self.answer if self.answer is not None else 'parked'}>"
