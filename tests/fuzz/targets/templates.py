"""Heartbeats and commits recognised by their bytes: the same answers and records as when all are decoded.

Two servers get the same bytes. One recognises repeated frames; in the other a layer must see every request, so none is
recognised. An input chooses a frame, and says for each copy of it which byte is another one, and how it is cut.
"""

from __future__ import annotations

import struct
from random import Random
from types import SimpleNamespace
from typing import Any, Final

from coordinator.core.effects import Effects, Ticket
from coordinator.server.api.handler import Handle
from coordinator.server.api.table import HANDLERS
from protocol.api_keys import ApiKey
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from tests.support.consumer_world import ConsumerWorld
from tests.support.edge import Edge
from tests.support.wire import encode_frame

KEYS: Final = (ApiKey.HEARTBEAT, ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.OFFSET_COMMIT)
IDS: Final = {"t": b"t" * 16, "u": b"u" * 16}
BY_ID: Final = {topic_id: SimpleNamespace(name=name) for name, topic_id in IDS.items()}
TOPICS: Final = SimpleNamespace(catalogue=SimpleNamespace(by_id=BY_ID.get))
COPY_BYTES: Final = 4  # of an input, for each copy: what to do, the position, the byte
COPIES: Final = 12
WORLD_LASTS: Final = 500  # inputs, after which new servers are made: what they hold must not grow
REPLACE, INSERT, CUT = 1, 2, 3  # the low two bits of what to do; 0: nothing
WITH_NEXT, IN_PARTS = 4, 8  # other bits of it


class World:
    """A server of a group with a dynamic and a static member, and of a KIP-848 group with one member."""

    def __init__(self, *, recognises: bool) -> None:
        self.cluster = ConsumerWorld({"t": 4})
        self.member, self.static = self.cluster.stable_group(members=2, instance_ids=[None, "i1"])
        for epoch, topics in ((0, ["t"]), (2, None)):
            self.cluster.beat("A", epoch, topics=topics, group_id="k", client_id="c")
        self.edge = Edge(dict.fromkeys(KEYS, self._handle), core=self.cluster.core, now_ms=self.cluster.clock.now_ms)
        if not recognises:
            self.edge.runtime.routes.add_layer(_see, KEYS)

    def _handle(self, node: Any, request: Any, ticket: Ticket, now_ms: int) -> None:
        def execute(effects: Effects, ticket: Ticket) -> None:
            ticket.has_append = bool(effects.appends)
            for append in effects.appends:
                self.cluster.log.append(append, self.cluster.clock.wall_ms)
            for each, response in effects.replies:
                node.reply(each, response)

        seen: Any = SimpleNamespace(core=self.cluster.core, topics=TOPICS, execute=execute, reply=node.reply)
        HANDLERS[ticket.api_key].handle(seen, request, ticket, now_ms)

    def take(self, reads: list[bytes]) -> tuple[bytes, bool, list[list[bytes]]]:
        """Return the answers to these reads, whether the connection was closed, and the batches that were written."""
        before = [len(each.durable) for each in self.cluster.log.partitions]
        peer = self.edge.peer()
        for data in reads:
            if not peer.transport.is_closed:
                peer.connection.data_received(data)
            self._settle()
        answers, is_closed = peer.transport.received, peer.transport.is_closed
        peer.connection.close("the end", quiet=True)
        self._settle()
        written = [each.durable[start:] for each, start in zip(self.cluster.log.partitions, before, strict=True)]
        return answers, is_closed, written

    def _settle(self) -> None:
        runtime = self.edge.runtime
        self.edge.loop.run_ready()
        for number in range(len(self.cluster.log.partitions)):
            high = self.cluster.log.flush(number)
            if high is not None:
                for each, response in self.cluster.core.appended(number, high, self.cluster.clock.now_ms).replies:
                    runtime.reply(each, response)
        runtime.end_of_event()
        self.edge.loop.run_ready()


def _see(handle: Handle, node: Any, request: Any, ticket: Ticket, now_ms: int) -> None:
    handle(node, request, ticket, now_ms)


def _worlds() -> tuple[World, World]:
    return World(recognises=True), World(recognises=False)


def _frames(world: World) -> list[bytes]:
    """Return the frames that are repeated, without their lengths."""
    found = []
    for member in (world.member, world.static):
        beat = HeartbeatRequest("g", member.generation, member.member_id, member.instance_id)
        found += [encode_frame(beat, version, 0, "c")[4:] for version in range(5)]
        for topics in ([("t", (0,))], [("t", (0, 1)), ("u", (7,))]):
            commit = OffsetCommitRequest(
                group_id="g",
                generation_id_or_member_epoch=member.generation,
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                topics=[
                    OffsetCommitRequestTopic(
                        name, IDS[name], [OffsetCommitRequestPartition(each, 5, -1, "m") for each in indexes]
                    )
                    for name, indexes in topics
                ],
            )
            found += [encode_frame(commit, version, 0, "c")[4:] for version in range(2, 11)]
    for owned in (None, world.cluster.partitions({"t": range(4)})):
        consumer = ConsumerGroupHeartbeatRequest(
            group_id="k", member_id="A", member_epoch=2, subscribed_topic_names=None, topic_partitions=owned
        )
        found += [encode_frame(consumer, version, 0, "c")[4:] for version in range(2)]
    return found


worlds = _worlds()
FRAMES: Final = _frames(worlds[0])
used = 0


def check(data: bytes) -> None:
    global used, worlds
    if not data:
        return
    used += 1
    if used % WORLD_LASTS == 0:
        worlds = _worlds()
    recognising, decoding = (world.take(_reads(data)) for world in worlds)
    assert recognising == decoding, f"{recognising} is not {decoding}"


def _reads(data: bytes) -> list[bytes]:
    frame = FRAMES[data[0] % len(FRAMES)]
    reads = [_framed(frame, 1), _framed(frame, 2)]
    held = b""
    for number in range(min((len(data) - 1) // COPY_BYTES, COPIES)):
        what, high, low, value = data[1 + number * COPY_BYTES :][:COPY_BYTES]
        read = held + _framed(_edited(frame, what & 3, high << 8 | low, value), 3 + number)
        held = b""
        if what & WITH_NEXT:
            held = read
        elif what & IN_PARTS:
            middle = 1 + value % (len(read) - 1)
            reads += [read[:middle], read[middle:]]
        else:
            reads.append(read)
    return [*reads, held] if held else reads


def _edited(frame: bytes, what: int, position: int, value: int) -> bytes:
    position %= len(frame)
    if what == REPLACE:
        return frame[:position] + bytes((value,)) + frame[position + 1 :]
    if what == INSERT:
        return frame[:position] + bytes((value,)) + frame[position:]
    return frame[:position] + frame[position + 1 :] if what == CUT else frame


def _framed(frame: bytes, correlation_id: int) -> bytes:
    return struct.pack(">i", len(frame)) + frame[:4] + struct.pack(">i", correlation_id) + frame[8:]


def seeds() -> list[bytes]:
    return [bytes((number,)) + bytes((0, 0, 0, 0, 1, 0, 60, 9, 12, 0, 0, 3)) for number in range(len(FRAMES))]


def mutate(data: bytes, chance: Random) -> bytes:
    copies = [
        bytes((chance.choice((0, 1, 1, 1, 2, 3, 4, 5, 8, 9)), 0, chance.randrange(160), chance.choice(VALUES)))
        for _ in range(chance.randint(1, 5))
    ]
    return bytes((chance.randrange(len(FRAMES)),)) + b"".join(copies)


VALUES: Final = (0, 1, 2, 5, 0x7F, 0x80, 0xFF, ord("m"), ord("t"), ord("u"))
