"""Recognise, by its bytes, a request that repeats an earlier one of its connection, without decoding it.

A heartbeat, of either protocol, is the same as the last one but for its correlation id. An OffsetCommit differs from
an earlier one in the committed offsets as well. Where a frame has these is found without knowing its layout: the
request is encoded twice, with offsets that differ in every bit. If encoding the request does not give the received
bytes (a client may encode the same values in another way), it is not recognised. The rest of the frame must be equal
byte for byte.

The core decides whether a recognised request is answered as before (`RepeatedHeartbeat`, `CommitTemplate`). Reasons:
docs/decisions/0006-heartbeats-by-their-bytes.md and 0012-commits-by-their-bytes.md.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from coordinator.core.offsets.commit import OFFSET_COMMIT, build_response
from coordinator.core.offsets.commit_template import RepeatedCommit
from coordinator.server.api.consumer_group_heartbeat import command_of
from protocol import codec
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from coordinator.core.coordinator import GroupCoordinator
    from coordinator.core.effects import Ticket
    from coordinator.core.offsets.commit_template import CommitTemplate
    from coordinator.core.repeated_heartbeat import RepeatedHeartbeat
    from coordinator.server.dispatch import Route
    from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
    from protocol.messages.heartbeat import HeartbeatRequest
    from protocol.messages.offset_commit import OffsetCommitRequest

_HEAD_BYTES: Final = 8  # API key, version, correlation id
_OFFSET_BYTES: Final = 8

# The correlation id is bytes 4 to 8 of a frame, and 8 to 12 of a read, which begins with the length. The numbers are
# written out where they are used: a slice object as an index of bytes is a TypeError in a compiled module.


def _template_of_heartbeat(
    core: GroupCoordinator, request: HeartbeatRequest, ticket: Ticket, now_ms: int
) -> RepeatedHeartbeat | None:
    return core.heartbeat_template(
        request.group_id, request.member_id, request.group_instance_id, request.generation_id
    )


def _template_of_consumer_heartbeat(
    core: GroupCoordinator, request: ConsumerGroupHeartbeatRequest, ticket: Ticket, now_ms: int
) -> RepeatedHeartbeat | None:
    return core.consumer_heartbeat_template(command_of(request, ticket.version), ticket, now_ms)


# By API key: what makes the template of a heartbeat that succeeded.
HEARTBEATS: Final[Mapping[int, Callable[[GroupCoordinator, Any, Ticket, int], RepeatedHeartbeat | None]]] = {
    int(ApiKey.HEARTBEAT): _template_of_heartbeat,
    int(ApiKey.CONSUMER_GROUP_HEARTBEAT): _template_of_consumer_heartbeat,
}


class HeartbeatFrame:
    """The frame of a heartbeat that succeeded. Its fields lie together, in the processor's cache."""

    __slots__ = (
        "_body",
        "_head",
        "_read_head",
        "_size",
        "_tail",
        "may_be_parked",
        "read_size",
        "route",
        "size",
        "template",
    )

    def __init__(self, frame: bytes, template: RepeatedHeartbeat, route: Route, *, may_be_parked: bool) -> None:
        self.size = len(frame)
        self.may_be_parked = may_be_parked
        self.read_size = 0 if may_be_parked else 4 + len(frame)  # 0: no read is answered as a whole
        self._head = frame[:4]
        self._tail = frame[8:]
        self._read_head = len(frame).to_bytes(4, "big") + self._head
        self.template = template
        self.route = route
        self._body = (b"\0" if route.answer_is_flexible else b"") + route.encode(template.response)
        self._size = (4 + len(self._body)).to_bytes(4, "big")

    @classmethod
    def of(
        cls,
        frame: bytes,
        request: Any,
        route: Route,
        core: GroupCoordinator,
        ticket: Ticket,
        now_ms: int,
        *,
        may_be_parked: bool,
    ) -> HeartbeatFrame | None:
        """Return the template of a heartbeat that was handled just now; None if it cannot be recognised.

        `may_be_parked`: its client is one that may wait for the answer.
        """
        make = route.heartbeat_template
        template = None if make is None else make(core, request, ticket, now_ms)
        if template is None:
            return None
        return cls(frame, template, route, may_be_parked=may_be_parked and template.may_wait)

    def is_repeated_by(self, frame: bytes) -> bool:
        """Return whether a frame of the same size is the same heartbeat again."""
        return frame.endswith(self._tail) and frame.startswith(self._head)

    def answer(self, frame: bytes, now_ms: int) -> bytes | None:
        """Renew the session and return the answer to a frame of the same size; None if it must be decoded."""
        if frame.endswith(self._tail) and frame.startswith(self._head) and self.template.renew(now_ms):
            return self._size + frame[4:8] + self._body
        return None

    def answer_to_read(self, data: bytes, now_ms: int) -> bytes | None:
        """Do as `answer` for a read of `read_size`: a frame behind its length."""
        if data.endswith(self._tail) and data.startswith(self._read_head) and self.template.renew(now_ms):
            return self._size + data[8:12] + self._body
        return None


class CommitFrame:
    """The frame of a commit that succeeded, with its template in the core and the body of its answer."""

    __slots__ = ("_answer", "_fixed", "_head", "_template", "_topic_ids", "_unpack", "size")

    def __init__(
        self,
        frame: bytes,
        layout: struct.Struct,
        template: CommitTemplate,
        answer: bytes,
        topic_ids: Mapping[str, bytes],
    ) -> None:
        self.size = layout.size
        self._head = frame[:4]
        self._unpack = layout.unpack
        self._fixed = layout.unpack(frame)[::2]
        self._template = template
        self._answer = answer
        self._topic_ids = topic_ids

    @classmethod
    def of(
        cls, frame: bytes, body: int, request: OffsetCommitRequest, route: Route, core: GroupCoordinator
    ) -> CommitFrame | None:
        """Return the template of a commit that was accepted just now; None if it cannot be recognised.

        `body` is the position behind the header. The topics of the request have their names, whatever the version.
        """
        template = core.commit_template(request)
        layout = layout_of(frame, body, request, route.version) if template is not None else None
        if template is None or layout is None:
            return None
        response = build_response(OFFSET_COMMIT, template.outcomes(int(ErrorCode.NONE)))
        topic_ids = {topic.name: topic.topic_id for topic in request.topics}
        for topic in response.topics:
            topic.topic_id = topic_ids[topic.name]
        return cls(frame, layout, template, route.encode(response), topic_ids)

    def again(self, frame: bytes) -> RepeatedCommit | None:
        """Return the request in a frame of the same size; None if it differs, or its answer might differ."""
        if not frame.startswith(self._head):
            return None
        values = self._unpack(frame)
        if values[::2] != self._fixed or not self._template.holds():
            return None
        return RepeatedCommit(self._template, values[1::2], self._answer, self._topic_ids)


class RecentCommits:
    """Decides which commits of a connection become templates: the second of a size, unless templates stay unused.

    `most_bytes`: of a frame. `most_unused`: templates made in a row; the commits of this client always differ.
    """

    __slots__ = ("_most_bytes", "_most_unused", "_size", "_unused")

    def __init__(self, most_bytes: int, most_unused: int) -> None:
        self._most_bytes = most_bytes
        self._most_unused = most_unused
        self._size = 0  # bytes of the last commit that was decoded
        self._unused = 0  # templates made since one was used

    def used(self) -> None:
        """Count that a commit was recognised."""
        self._unused = 0

    def is_worth_a_template(self, size: int) -> bool:
        """Count a decoded commit of `size` bytes. Return True if a template should be made of it."""
        if size != self._size:
            self._size = size
            return False
        if size > self._most_bytes or self._unused >= self._most_unused:
            return False
        self._unused += 1
        return True


def layout_of(frame: bytes, body: int, request: OffsetCommitRequest, version: int) -> struct.Struct | None:
    """Return the layout of a frame: bytes, offset, bytes, offset, ..., bytes. None if it cannot be determined."""
    partitions = [partition for topic in request.topics for partition in topic.partitions]
    offsets = [partition.committed_offset for partition in partitions]
    if codec.encode_request(request, version) != frame[body:]:
        return None
    try:
        for partition in partitions:
            partition.committed_offset = 0
        zeros = codec.encode_request(request, version)
        for partition in partitions:
            partition.committed_offset = -1
        ones = codec.encode_request(request, version)
    finally:
        for partition, offset in zip(partitions, offsets, strict=True):
            partition.committed_offset = offset
    form = [">8x"]
    end = _HEAD_BYTES
    position = 0
    for _ in partitions:
        while zeros[position] == ones[position]:
            position += 1
        form.append(f"{body + position - end}sq")
        position += _OFFSET_BYTES
        end = body + position
    form.append(f"{len(frame) - end}s")
    return struct.Struct("".join(form))
