"""Simulated clients of KIP-848 groups at one server: each knows what this server has told it, and nothing else.

The assignments of two servers may differ where Kafka leaves the choice open, so scripts name what a client has instead
of saying it: `$epoch:m0` is the epoch that slot m0 was told last, `$own:m0` the partitions it was told, `$held:m0`
those it had told the server before, `$own:m0:less` and `$own:m0:more` one partition less or more than told.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

Body = dict[str, Any]
Owned = dict[str, list[int]]  # topic id (as text of 16 characters) -> partitions

EPOCH: Final = re.compile(r"\$epoch:(\w+)(?::([+-]\d+))?$")
OWNED: Final = re.compile(r"\$(own|held):(\w+)(?::(less|more))?$")
STAYS: Final = ("subscribed_topic_names", "subscribed_topic_regex", "server_assignor", "rack_id", "instance_id")
JOINS: Final = 0
LEAVES: Final = -1
GONE: Final = frozenset({25, 82, 110, 111})  # errors after which a client has nothing and starts again
FENCED: Final = 110
BEYOND: Final = 99  # a partition that no topic has
NO_TOPIC: Final = "\x00" * 16


@dataclass(slots=True)
class Client:
    """The knowledge of one slot."""

    member_id: str = ""
    epoch: int = 0
    is_member: bool = False
    error: int = 0  # of its newest answer
    told: Owned = field(default_factory=dict)  # its newest assignment
    held: Owned = field(default_factory=dict)  # what it last told that it owns
    joined_with: Body = field(default_factory=dict)  # its newest join, with what was changed since

    @property
    def group_id(self) -> str:
        return str(self.joined_with.get("group_id", ""))

    @property
    def is_behind(self) -> bool:
        """Return whether it was told another assignment than it has confirmed."""
        return self.told != self.held

    def forget(self) -> None:
        self.is_member, self.told, self.held = False, {}, {}

    def learn(self, body: Body, answer: Any) -> None:
        """Take the answer to a heartbeat that it sent."""
        self.error = answer.error_code
        if answer.error_code:
            if answer.error_code in GONE:
                self.forget()
            return
        if body["member_epoch"] == JOINS:
            self.joined_with = dict(body)
            self.held = {}
        else:
            self.joined_with |= {name: body[name] for name in STAYS if body.get(name) is not None}
        self.member_id = answer.member_id
        self.joined_with["member_id"] = answer.member_id
        self.epoch = max(answer.member_epoch, 0)
        self.is_member = answer.member_epoch >= 0
        if not self.is_member:
            self.forget()
        elif answer.assignment is not None:
            self.told = {
                part.topic_id.decode("latin-1"): sorted(part.partitions)
                for part in answer.assignment.topic_partitions
                if part.partitions
            }

    def next_beat(self) -> Body:
        """Return the heartbeat that it sends next by itself."""
        body = {"group_id": self.group_id, "member_id": self.member_id, "member_epoch": self.epoch}
        body["instance_id"] = self.joined_with.get("instance_id")
        if self.is_behind:
            body["topic_partitions"] = as_wire(self.told)
        return body

    def next_join(self) -> Body:
        return {**self.joined_with, "member_epoch": JOINS, "topic_partitions": []}


def as_wire(owned: Owned) -> list[Body]:
    return [{"topic_id": topic_id, "partitions": partitions} for topic_id, partitions in sorted(owned.items())]


class Clients:
    """All clients of one server during one script."""

    def __init__(self) -> None:
        self.by_slot: dict[str, Client] = {}

    def of(self, slot: str) -> Client:
        return self.by_slot.setdefault(slot, Client())

    def in_group(self, group_id: str) -> list[Client]:
        return [each for _, each in sorted(self.by_slot.items()) if each.is_member and each.group_id == group_id]

    def value_of(self, name: str) -> Any:
        """Return what a name in a script stands for; None if it is no name of this kind."""
        found = EPOCH.fullmatch(name)
        if found is not None:
            return self.of(found.group(1)).epoch + int(found.group(2) or 0)
        found = OWNED.fullmatch(name)
        if found is None:
            return None
        kind, slot, change = found.groups()
        client = self.of(slot)
        owned = {topic_id: list(each) for topic_id, each in (client.told if kind == "own" else client.held).items()}
        if change == "more":
            owned.setdefault(min(owned, default=NO_TOPIC), []).append(BEYOND)
        elif change == "less" and owned:
            owned[max(owned)].pop()
        return as_wire(owned)

    def sent(self, slot: str, body: Body) -> None:
        """Note what a request of the script says that its client owns: all it was told, and it has confirmed that."""
        client = self.of(slot)
        if body.get("topic_partitions") == f"$own:{slot}":
            client.held = {topic_id: list(each) for topic_id, each in client.told.items()}
