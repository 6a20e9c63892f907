"""The error that ends the handling of a request to a KIP-848 group."""

from __future__ import annotations

from protocol.error_codes import ErrorCode


class GroupError(Exception):
    """A request is refused; nothing of its event is kept."""

    def __init__(self, error: ErrorCode, message: str | None = None) -> None:
        super().__init__(message or error.name)
        self.error = error
        self.message = message
