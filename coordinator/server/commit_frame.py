"""Recognise an OffsetCommit that differs from an earlier one in nothing but what is committed.

Where a frame has the committed offsets is found without knowing its layout: the request is encoded twice, with offsets
that differ in every bit. If encoding it as it is does not give the bytes that came (a client may say the same thing in
other words), there is nothing to recognise. The rest of the frame, the correlation id excepted, must then be the same
byte for byte. See `coordinator.core.offsets.commit_template`.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from coordinator.core.offsets.commit import OFFSET_COMMIT, build_response
from coordinator.core.offsets.commit_template import RepeatedCommit
from protocol import codec
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from coordinator.core.coordinator import GroupCoordinator
    from coordinator.core.offsets.commit_template import CommitTemplate
    from coordinator.server.dispatch import Route
    from protocol.messages.offset_commit import OffsetCommitRequest

_HEAD_BYTES: Final = 8  # API key, version, correlation id
_OFFSET_BYTES: Final = 8


class CommitFrame:
    """The frame of a commit that succeeded, with the memo of it and the body of its answer."""

    __slots__ = ("_answer", "_fixed", "_head", "_template", "_unpack", "size")

    def __init__(self, frame: bytes, layout: struct.Struct, template: CommitTemplate, answer: bytes) -> None:
        self.size = layout.size
        self._head = frame[:4]
        self._unpack = layout.unpack
        self._fixed = layout.unpack(frame)[::2]
        self._template = template
        self._answer = answer

    @classmethod
    def of(
        cls, frame: bytes, body: int, request: OffsetCommitRequest, route: Route, core: GroupCoordinator
    ) -> CommitFrame | None:
        """Of a commit that was accepted just now; None if it cannot be recognised. `body`: where the header ends."""
        template = core.commit_template(request)
        layout = layout_of(frame, body, request, route.version) if template is not None else None
        if template is None or layout is None:
            return None
        response = build_response(OFFSET_COMMIT, template.outcomes(int(ErrorCode.NONE)))
        return cls(frame, layout, template, route.encode(response))

    def again(self, frame: bytes) -> RepeatedCommit | None:
        """The request in a frame of the same size; None if it is another one, or might be answered otherwise."""
        if not frame.startswith(self._head):
            return None
        values = self._unpack(frame)
        if values[::2] != self._fixed or not self._template.holds():
            return None
        return RepeatedCommit(self._template, values[1::2], self._answer)


def layout_of(frame: bytes, body: int, request: OffsetCommitRequest, version: int) -> struct.Struct | None:
    """A frame as bytes, offset, bytes, offset, …, bytes; None if it cannot be told."""
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
