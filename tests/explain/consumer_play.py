"""A play of KIP-848 clients: each sends a heartbeat each second, and follows its assignment unless told not to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coordinator.config.config import Config
from coordinator.core.events.model import Story, decode_story, encode
from coordinator.explain.rules import explain
from coordinator.explain.verdict import Finding, GroupVerdict
from protocol.error_codes import ErrorCode
from tests.explain.play import LIBRDKAFKA
from tests.support.call import Call
from tests.support.consumer_world import ConsumerWorld


class Client:
    """One process `name` on `pod-name`."""

    def __init__(self, name: str, topics: list[str] | None, fields: dict[str, Any]) -> None:
        self.name = name
        self.topics = topics
        self.fields = fields
        self.member_id = ""
        self.runs = 0
        self.epoch = 0
        self.owned: Mapping[str, list[int]] = {}
        self.is_busy = False  # it sends heartbeats, and gives up nothing
        self.is_silent = False
        self.rejoins = True  # when it hears that it was removed
        self.last: Call | None = None


class ConsumerPlay:
    """Clients of group "g", whose topic `orders` has six partitions."""

    def __init__(self, config: Config | None = None, topics: Mapping[str, int] | None = None) -> None:
        self.world = ConsumerWorld({"orders": 6} if topics is None else topics, config=config or Config())
        self.on_stage: list[Client] = []

    def join(self, *names: str, topics: list[str] | None = None, **fields: Any) -> list[Client]:
        """Let clients join, and all on stage settle."""
        clients = [Client(name, ["orders"] if topics is None else topics, fields) for name in names]
        for client in clients:
            self.start(client)
        self.settle()
        return clients

    def start(self, client: Client) -> None:
        """Let a new run of a client join."""
        client.runs += 1
        client.member_id = f"{client.name}-{client.runs}"
        client.epoch, client.owned = 0, {}
        if client not in self.on_stage:
            self.on_stage.append(client)
        self.beat(client)

    def beat(self, client: Client) -> None:
        is_join = client.epoch <= 0
        call = self.world.beat(
            client.member_id,
            max(client.epoch, 0),
            topics=client.topics if is_join and "subscribed_topic_regex" not in client.fields else None,
            owned={} if is_join else client.owned,
            client_id=client.name,
            host=f"/pod-{client.name}",
            software=LIBRDKAFKA,
            **(client.fields if is_join else {}),
        )
        client.last = call
        if call.error in {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH} and client.rejoins:
            client.epoch, client.owned = 0, {}
        elif call.error is ErrorCode.NONE:
            epoch, assignment = self.world.told(call)
            client.epoch = epoch
            if assignment is not None and not client.is_busy:
                client.owned = assignment

    def stop(self, client: Client) -> None:
        """Let a client leave in good order."""
        self.world.beat(client.member_id, -1, client_id=client.name)
        self.on_stage.remove(client)

    def settle(self) -> None:
        for _ in range(8):
            for client in self.on_stage:
                if not client.is_silent:
                    self.beat(client)

    def wait(self, seconds: int) -> None:
        for _ in range(seconds):
            self.world.advance("1s")
            for client in self.on_stage:
                if not client.is_silent:
                    self.beat(client)

    def story(self) -> Story:
        """Return the story as the command reads it, over the wire."""
        story = self.world.core.story("g", self.world.clock.now_ms)
        assert story is not None
        return decode_story(encode(story))

    def verdict(self) -> GroupVerdict:
        return explain(self.story())[0]

    def codes(self) -> list[Finding]:
        return [verdict.code for verdict in explain(self.story())]
