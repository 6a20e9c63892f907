"""The owners of a group's partitions in its newest generations, as records with one JSON form.

All times are in milliseconds since the epoch. Keys and client ids are shortened.
"""

from __future__ import annotations

from typing import Final

import msgspec


class Holder(msgspec.Struct, frozen=True):
    """A member of a generation, and the assignment that it got."""

    key: str  # its instance id, or else its member id
    client_id: str
    host: str
    assignment: bytes  # as its leader wrote it; base64 in JSON


class GenerationOwners(msgspec.Struct, frozen=True):
    """The owners of a group's partitions from `at_ms` on, when the assignments of a generation became durable."""

    at_ms: int
    generation: int
    gave_up: list[tuple[int, str]]  # before that: when a member gave up all that it had had, and its key
    holders: list[Holder]


class MemberOwns(msgspec.Struct, frozen=True):
    """The partitions that a member of a KIP-848 group owns from `at_ms` on, by topic; none: it gave up all."""

    at_ms: int
    key: str
    client_id: str
    host: str
    partitions: dict[str, list[int]]


class OwnersAnswer(msgspec.Struct, kw_only=True):
    """The generations of a group that are kept, oldest first. Of the time before the first one nothing is known.

    Of a KIP-848 group it has the changes of its members instead, of which nothing is known before `changes_from_ms`.
    A group that was upgraded or downgraded may have both.
    """

    at_ms: int
    generations: list[GenerationOwners]
    changes: list[MemberOwns] = []
    changes_from_ms: int = -1


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(OwnersAnswer)


def encode(answer: OwnersAnswer) -> bytes:
    """Return the JSON of an answer."""
    return _ENCODER.encode(answer)


def decode(data: bytes) -> OwnersAnswer:
    """Decode an answer. Raises msgspec.DecodeError or msgspec.ValidationError."""
    return _DECODER.decode(data)
