"""Recorded logs of a real Kafka, handed to the state as the follower does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coordinator.core.events.model import AnyEvent, ClientInfo, Incident, Rebalance, Story
from coordinator.explain.rules import explain
from coordinator.explain.verdict import GroupVerdict
from coordinator.observe.state import ObservedGroups
from protocol.offsets_records import OffsetKey, decode_key, decode_offset_value

RECORDED = Path(__file__).parent / "recorded"
SESSION_MS = 6_000  # of all members in these recordings


class Replay:
    """One recording, with or without the answers to DescribeGroups in it."""

    def __init__(self, name: str, *, is_polled: bool = True) -> None:
        head, *self.lines = map(json.loads, (RECORDED / f"{name}.jsonl").read_text().splitlines())
        self.group = name
        self.ended_ms: int = head["ended_ms"]
        self.state = ObservedGroups(
            {bytes.fromhex(topic_id): topic for topic_id, topic in head["topics"].items()},
            consumer_session_timeout_ms=SESSION_MS,
        )
        self.is_polled = is_polled
        self.marks: list[tuple[int, str]] = [(line["at_ms"], line["did"]) for line in self.lines if "did" in line]

    def play(self, until_ms: int | None = None) -> Replay:
        """Hand in the lines until a moment."""
        for line in self.lines:
            if until_ms is not None and line["at_ms"] > until_ms:
                break
            self.hand_in(line)
        self.state.caught_up()
        return self

    def hand_in(self, line: dict[str, Any]) -> None:
        """Hand in one line."""
        if "did" in line:
            return
        if "state" in line:
            if self.is_polled:
                clients = [
                    ClientInfo(member_id, instance_id, client_id, host.lstrip("/"))
                    for member_id, instance_id, client_id, host in line["members"]
                ]
                self.state.described(line["at_ms"], self.group, line["state"], clients)
            return
        key, value = bytes.fromhex(line["key"]), line["value"] and bytes.fromhex(line["value"])
        if key[:2] > b"\0\1":
            self.state.record(line["at_ms"], key, value)
            return
        found = decode_key(key)
        assert isinstance(found, OffsetKey)
        offset = decode_offset_value(value).offset if value is not None else -1
        self.state.commits([found.group], [found.topic], [found.partition], [offset], [line["at_ms"]])

    def at(self, did: str) -> int:
        """Return when something was done first."""
        return next(at_ms for at_ms, what in self.marks if what == did)

    def story(self, at_ms: int | None = None) -> Story:
        story = self.state.story(self.group, self.ended_ms if at_ms is None else at_ms)
        assert story is not None
        return story

    @property
    def rebalances(self) -> list[Rebalance]:
        return [event for event in self.story().events if isinstance(event, Rebalance)]

    @property
    def incidents(self) -> list[Incident]:
        return [event for event in self.story().events if isinstance(event, Incident)]

    def verdict(self, at_ms: int | None = None) -> GroupVerdict:
        return explain(self.story(at_ms))[0]


def told(event: AnyEvent) -> tuple[str, str]:
    """Return the cause and the culprit of an event."""
    if isinstance(event, Rebalance):
        return event.trigger.cause.value, event.trigger.member.client_id
    return event.what.value, event.member.client_id


def recordings() -> Iterator[str]:
    yield from (path.stem for path in sorted(RECORDED.glob("*.jsonl")))
