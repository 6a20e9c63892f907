"""Questions to the console's API, read from the query or the body of a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from coordinator.console.source import ConsoleError, ListQuestion

LONGEST_ID: Final = 32_767  # characters, as in Kafka
LATEST_MS: Final = 2**53
MOST: Final = 2**31
DIGITS: Final = 16


class KickQuestion(msgspec.Struct):
    """The body of `POST /api/kick`."""

    group: str
    member_id: str
    reason: str = ""


def list_question(query: Mapping[str, str]) -> ListQuestion:
    """Read the parameters of /api/groups. Raises ConsoleError."""
    return ListQuestion(
        search=query.get("search", "")[:LONGEST_ID],
        state=query.get("state", ""),
        sort=query.get("sort", "group"),
        reverse=query.get("reverse", "0") in ("1", "true"),
        offset=_number("offset", query.get("offset", "0"), 0, MOST),
        limit=_number("limit", query.get("limit", "50"), 1, MOST),
    )


def group_question(query: Mapping[str, str]) -> tuple[str, int | None]:
    """Read the parameters of /api/group: the group id, and a past moment if one is asked for. Raises ConsoleError."""
    group, at = query.get("id"), query.get("at")
    if group is None or len(group) > LONGEST_ID:
        raise ConsoleError("name the group: ?id=GROUP")
    return group, None if at is None else _number("at", at, 0, LATEST_MS)


def kick_question(body: bytes) -> KickQuestion:
    """Read the body of /api/kick. Raises ConsoleError."""
    try:
        return msgspec.json.decode(body, type=KickQuestion)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConsoleError(f'send JSON such as {{"group": "orders", "member_id": "…"}}: {error}') from None


def _number(name: str, text: str, least: int, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= DIGITS and least <= int(text) <= most):
        raise ConsoleError(f"{name}={text[:40]!r}: give a number from {least} to {most}")
    return int(text)
