"""Short forms of member ids: most clients append 36 characters of chance to a name, and a few of them are enough.

A short id is the beginning of the id and an ellipsis. `find` takes it back, or any beginning that fits one member only.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from coordinator.cli.group_description import DescribedMember

ELLIPSIS: Final = "…"
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_BLOCKS: Final = (8, 13, 18, 23)  # where the first four blocks of a UUID end


def shortened(member_ids: Iterable[str]) -> dict[str, str]:
    """Return the short form of each id: up to the end of the first block of its UUID that makes all of them differ."""
    ids = set(member_ids)
    for length in _BLOCKS:
        short = {each: _cut(each, length) for each in ids}
        if len(set(short.values())) == len(ids):
            return short
    return {each: each for each in ids}


def _cut(member_id: str, length: int) -> str:
    uuids = list(_UUID.finditer(member_id))
    return f"{member_id[: uuids[-1].start() + length]}{ELLIPSIS}" if uuids else member_id


def find(word: str, members: Iterable[DescribedMember]) -> list[DescribedMember]:
    """Return the members with this id or instance id, or else those whose id begins with it."""
    prefix = word.removesuffix(ELLIPSIS)
    exact = [member for member in members if word in (member.member_id, member.instance_id)]
    return exact or [member for member in members if prefix and member.member_id.startswith(prefix)]
