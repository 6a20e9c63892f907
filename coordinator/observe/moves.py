"""Partitions that change their owners between two moments, and how long they have none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from coordinator.core.events.model import NAMED_AT_MOST, ClientInfo, Share

Partitions: TypeAlias = Mapping[str, Sequence[int]]
Owners: TypeAlias = dict[tuple[str, int], str]  # the key of the owner of each partition


def key_of_member(client: ClientInfo) -> str:
    """Return what stays of a member from run to run: its instance id, or else its member id."""
    return client.instance_id or client.member_id


def owners_of(owned: Iterable[tuple[str, Partitions]]) -> Owners:
    """Return the owner of each partition."""
    return {
        (topic, number): key for key, partitions in owned for topic, numbers in partitions.items() for number in numbers
    }


def count_of(partitions: Partitions) -> int:
    return sum(map(len, partitions.values()))


class Moves(NamedTuple):
    """Partitions with another owner than before, and the members that lost or gained most."""

    moved: int
    shares: list[Share]


def moves(before: Owners, after: Owners, clients: Mapping[str, ClientInfo]) -> Moves:
    """Compare two moments. A partition without an owner before or after has not moved, but is lost or gained."""
    lost: dict[str, int] = {}
    gained: dict[str, int] = {}
    moved = 0
    for place in before.keys() | after.keys():
        former, new = before.get(place), after.get(place)
        if former == new:
            continue
        moved += former is not None and new is not None
        if former is not None:
            lost[former] = lost.get(former, 0) + 1
        if new is not None:
            gained[new] = gained.get(new, 0) + 1
    most = sorted(lost.keys() | gained.keys(), key=lambda key: (-lost.get(key, 0) - gained.get(key, 0), key))
    shares = [
        Share(clients.get(key, ClientInfo(member_id=key)), lost.get(key, 0), gained.get(key, 0))
        for key in most[:NAMED_AT_MOST]
    ]
    return Moves(moved, shares)
