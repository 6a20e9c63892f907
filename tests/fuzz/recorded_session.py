"""A recorded session of a real client, played again with the ids of the present, and changed by its grammar.

The frames keep their connections and their order. Each request is decoded, the ids that the daemon gave to the recorded
client become those that it has given now, and the request is encoded again behind its own header. Two thirds of the
sessions are changed: requests left out, sent twice, late, in another order or on another connection; the rest of a
session of another client behind the beginning of this one; fields, versions, lengths and bytes.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from random import Random
from typing import Any, Final

from protocol import codec
from protocol.api_keys import ApiKey
from protocol.client import decode_response
from protocol.errors import ProtocolError, UnsupportedVersionError
from protocol.headers import RequestHeader, decode_request_header
from protocol.schema import field_specs
from tests.fuzz.frame_changes import changed
from tests.fuzz.lines import Lines
from tests.fuzz.messages import change_field
from tests.fuzz.recording import GROUP, Frame

IDS: Final = frozenset({"member_id", "leader", "topic_id"})
NUMBERS: Final = {  # fields that repeat a number which the daemon gave, and the name under which it is known
    "generation_id": "generation",
    "generation_id_or_member_epoch": "generation",
    "producer_id": "producer",
    "producer_epoch": "epoch",
}
LATE: Final = frozenset({ApiKey.FETCH})  # long polls: the session goes on meanwhile
CHANGED: Final = 0.25  # share of the frames of a changed session


class Known:
    """Recorded ids and numbers, and those of the present in their place."""

    def __init__(self, group: str) -> None:
        self._words: dict[str | bytes, Any] = {GROUP: group}
        self._numbers: dict[tuple[str, int], int] = {}

    def learn(self, recorded: Any, present: Any) -> None:
        """Take the ids from the answer of the present that stand where the recorded answer has its own."""
        for name in field_specs(type(recorded)):
            old, new = getattr(recorded, name), getattr(present, name)
            if isinstance(old, list):
                for each, other in _pairs(old, new or []):
                    self.learn(each, other)
            elif name in IDS and old:
                self._words[old] = new
            elif name in NUMBERS:
                self._numbers[NUMBERS[name], old] = new

    def put_into(self, message: Any) -> None:
        for name in field_specs(type(message)):
            value = getattr(message, name)
            if isinstance(value, list):
                if value and hasattr(type(value[0]), "__field_specs__"):
                    for each in value:
                        self.put_into(each)
                else:
                    setattr(message, name, [self._words.get(each, each) for each in value])
            elif isinstance(value, str | bytes):
                setattr(message, name, self._words.get(value, value))
            elif name in NUMBERS:
                setattr(message, name, self._numbers.get((NUMBERS[name], value), value))


class RecordedSession:
    """One recording. `run` plays it; nothing that the daemon answers is an error of the session."""

    def __init__(
        self, port: int, chance: Random, recordings: Sequence[list[Frame]], *, group: str, is_changed: bool
    ) -> None:
        self._chance = chance
        self._is_changed = is_changed
        self._recordings = recordings
        self._known = Known(chance.choice((group, group, group, "g0")) if self._is_changed else group)
        self._asked: dict[tuple[int, bytes], RequestHeader] = {}
        self._waiting: Counter[int] = Counter()  # by connection: answers that are due
        self.lines = Lines(port, chance)
        self.is_served = True  # as in `Session`
        self.answers: Counter[tuple[str, int]] = Counter()

    def run(self, steps: int) -> None:
        chosen = self._chance.choice(self._recordings)
        if self._is_changed and self._chance.random() < 0.2:
            chosen = self._spliced(chosen, self._chance.choice(self._recordings))
        told = {(each.connection, each.correlation): each.data for each in chosen if each.is_answer}
        requests = [each for each in chosen if not each.is_answer]
        try:
            for each in self._arranged(requests)[:steps] if self._is_changed else requests[:steps]:
                self._play(each, told)
        finally:
            self.lines.hang_up_all()

    # -- the order of the frames ---------------------------------------------------------------------------------------

    def _spliced(self, one: list[Frame], other: list[Frame]) -> list[Frame]:
        """Return the beginning of one and the rest of another, on connections of its own."""
        rest = other[self._chance.randrange(len(other)) :]
        beyond = max(each.connection for each in one)
        return one[: self._chance.randrange(len(one))] + [
            each._replace(connection=each.connection + beyond) for each in rest
        ]

    def _arranged(self, requests: list[Frame]) -> list[Frame]:
        chance, arranged = self._chance, list[Frame]()
        late: list[Frame] = []
        for each in requests:
            kind = chance.random()
            if kind < 0.04:
                continue
            if kind < 0.08:
                late.append(each)
                continue
            if kind < 0.10:
                each = each._replace(connection=chance.choice(requests).connection)
            arranged += [each, each] if kind > 0.97 else [each]
            if late and chance.random() < 0.3:
                arranged.append(late.pop(chance.randrange(len(late))))
        return arranged + late

    # -- one frame -----------------------------------------------------------------------------------------------------

    def _play(self, frame: Frame, told: dict[tuple[int, bytes], bytes]) -> None:
        number, chance = frame.connection, self._chance
        if self._waiting[number] and chance.random() < 0.9:
            self._take(number, told)
        is_changed = self._is_changed and chance.random() < CHANGED
        header, body = self._body(frame, change=is_changed and chance.random() < 0.5)
        data = struct.pack(">i", len(body)) + body
        if is_changed and chance.random() < 0.6:
            data, is_served = changed(data, chance)
            self.is_served = self.is_served and is_served
        self._asked[number, frame.correlation] = header
        self.lines.send(number, data)
        self._waiting[number] += 1
        if header.api_key not in LATE:
            self._take(number, told)

    def _body(self, frame: Frame, *, change: bool) -> tuple[RequestHeader, bytes]:
        """Return the header of a frame, and the frame with the ids of the present, perhaps with a field changed."""
        try:
            header, position = decode_request_header(frame.data)
        except UnsupportedVersionError:  # a client asks for ApiVersions in its newest version first
            return RequestHeader(int.from_bytes(frame.data[:2], "big"), 0, 0, None), frame.data
        message = codec.decode_request(header.api_key, header.api_version, frame.data, position)
        self._known.put_into(message)
        if change:
            change_field(message, header.api_version, self._chance)
        with suppress(ProtocolError):  # a version that cannot carry what was chosen
            return header, frame.data[:position] + codec.encode_request(message, header.api_version)
        return header, frame.data

    def _take(self, number: int, told: dict[tuple[int, bytes], bytes]) -> None:
        """Take what the answers that came tell; a recorded answer says what its ids stand for."""
        for answer in self.lines.answers(number):
            self._waiting[number] = max(self._waiting[number] - 1, 0)
            header = self._asked.get((number, answer[:4]))
            if header is None:
                continue
            with suppress(ProtocolError):  # an answer to changed bytes
                _, present = decode_response(header.api_key, header.api_version, answer)
                self.answers[ApiKey(header.api_key).name, getattr(present, "error_code", 0)] += 1
                if recorded := told.get((number, answer[:4])):
                    self._known.learn(decode_response(header.api_key, header.api_version, recorded)[1], present)


def _pairs(old: list[Any], new: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the structs of two lists that belong together: by their name, where they have one, or by their place."""
    if not old or not hasattr(type(old[0]), "__field_specs__"):
        return
    if not hasattr(old[0], "name"):
        yield from zip(old, new, strict=False)
        return
    named = {each.name: each for each in new}
    yield from ((each, named[each.name]) for each in old if each.name in named)
