"""Changes of ownership by group, bounded: what each member owned from when on.

A change that is dropped because there are too many is folded into the owners at the begin of what is kept, so the
changes of a group always tell the owners of every moment from `known_from_ms` on.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from coordinator.core.events.model import ClientInfo


class OwnerChange(NamedTuple):
    """The partitions that a member owns from `at_ms` on; none: it gave up all."""

    at_ms: int
    key: str  # the instance id of the member, or else its member id
    partitions: Mapping[str, Sequence[int]]


class _Owners:
    __slots__ = ("begin", "changes", "clients", "known_from_ms", "now")

    def __init__(self, known_from_ms: int) -> None:
        self.known_from_ms = known_from_ms
        self.begin: dict[str, OwnerChange] = {}  # the owners at known_from_ms
        self.changes: deque[OwnerChange] = deque()
        self.now: dict[str, Mapping[str, Sequence[int]]] = {}
        self.clients: dict[str, ClientInfo] = {}

    def drop_oldest(self) -> None:
        change = self.changes.popleft()
        self.known_from_ms = change.at_ms
        if change.partitions:
            self.begin[change.key] = change
        else:
            self.begin.pop(change.key, None)
            if change.key not in self.now and all(each.key != change.key for each in self.changes):
                self.clients.pop(change.key, None)


class OwnershipLog:
    """The owner changes of all groups: at most `per_group` of each, and of the least active ones fewer.

    The sizes of all changes together are at most `total`; a change has the size 1 if `size_of` says nothing else.
    """

    __slots__ = ("_groups", "_kept", "_per_group", "_size_of", "_total")

    def __init__(self, per_group: int, total: int, size_of: Callable[[OwnerChange], int] = lambda change: 1) -> None:
        self._per_group = per_group
        self._total = total
        self._size_of = size_of
        self._kept = 0
        self._groups: OrderedDict[str, _Owners] = OrderedDict()  # the least active group first

    def __len__(self) -> int:
        return self._kept

    def own(self, group: str, at_ms: int, client: ClientInfo, partitions: Mapping[str, Sequence[int]]) -> None:
        """Note that a member owns exactly these partitions from `at_ms` on."""
        key = client.instance_id or client.member_id
        owners = self._groups.get(group)
        if owners is None:
            owners = self._groups[group] = _Owners(at_ms)
        else:
            self._groups.move_to_end(group)
        if owners.now.get(key, {}) == partitions:
            return
        owners.clients[key] = client
        if partitions:
            owners.now[key] = partitions
        else:
            owners.now.pop(key, None)
        change = OwnerChange(at_ms, key, partitions)
        owners.changes.append(change)
        self._kept += self._size_of(change)
        if len(owners.changes) > self._per_group:
            self._drop_oldest(owners)
        while self._kept > self._total:
            self._drop_one()

    def of(self, group: str) -> list[OwnerChange]:
        """Return the changes of a group, oldest first, the owners at the begin before them."""
        owners = self._groups.get(group)
        return [*owners.begin.values(), *owners.changes] if owners is not None else []

    def clients(self, group: str) -> Mapping[str, ClientInfo]:
        """Return the clients that own or owned partitions, by key."""
        owners = self._groups.get(group)
        return owners.clients if owners is not None else {}

    def known_from_ms(self, group: str) -> int:
        """Return the moment before which nothing is known of the owners; -1: nothing is known at all."""
        owners = self._groups.get(group)
        return owners.known_from_ms if owners is not None else -1

    def forget(self, group: str) -> None:
        """Forget a group."""
        owners = self._groups.pop(group, None)
        self._kept -= sum(map(self._size_of, owners.changes)) if owners is not None else 0

    def _drop_one(self) -> None:
        group, owners = next(iter(self._groups.items()))
        if owners.changes:
            self._drop_oldest(owners)
        if not owners.changes:
            del self._groups[group]

    def _drop_oldest(self, owners: _Owners) -> None:
        self._kept -= self._size_of(owners.changes[0])
        owners.drop_oldest()
