"""Keys and values of the offsets log: a value that encodes to the same value again, or a DecodeError."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from protocol import offsets_records as records
from protocol.errors import DecodeError
from protocol.messages.offsets_log import GroupValue, MemberValue, OffsetValue
from tests.fuzz.edits import edited
from tests.fuzz.messages import WORDS


def check(data: bytes) -> None:
    try:
        key = records.decode_key(data)
    except DecodeError:
        pass
    else:
        if isinstance(key, records.OffsetKey):
            assert records.decode_key(records.encode_offset_key(*key)) == key
        elif isinstance(key, records.GroupKey):
            assert records.decode_key(records.encode_group_key(*key)) == key
        else:
            assert key.raw == data
    for decode, encode in VALUES:
        try:
            value: Any = decode(data)
        except DecodeError:
            continue
        encoded = encode(value)
        assert decode(encoded) == _as_written(value)


def _as_written(value: Any) -> Any:
    """Return the value as its newest form holds it: an offset with its own expiry has no leader epoch."""
    if isinstance(value, OffsetValue) and value.expire_timestamp_ms != -1:
        value.leader_epoch = -1
    return value


VALUES: Final = (
    (records.decode_offset_value, records.encode_offset_value),
    (records.decode_group_value, records.encode_group_value),
)


def seeds() -> list[bytes]:
    return [
        records.encode_group_key("g"),
        records.encode_offset_key("g", "t", 3),
        records.encode_offset_value(OffsetValue(7, 3, "m", 1_000, -1)),
        records.encode_offset_value(OffsetValue(7, -1, "m", 1_000, 2_000)),
        records.encode_group_value(_group(2)),
        records.encode_group_value(GroupValue()),
    ]


def _group(members: int) -> GroupValue:
    each = [
        MemberValue(member_id=f"m{number}", client_id="c", client_host="/h", subscription=b"s", assignment=b"a")
        for number in range(members)
    ]
    return GroupValue(protocol_type="consumer", generation=3, protocol="range", leader="m0", members=each)


def mutate(data: bytes, chance: Random) -> bytes:
    kind = chance.randrange(5)
    word = chance.choice(WORDS)
    if kind == 0:
        data = records.encode_group_key(word)
    elif kind == 1:
        data = records.encode_offset_key(word, chance.choice(WORDS), chance.getrandbits(31))
    elif kind == 2:
        expiry = chance.choice((-1, 5))
        data = records.encode_offset_value(OffsetValue(chance.getrandbits(62), chance.getrandbits(30), word, 1, expiry))
    elif kind == 3:
        data = records.encode_group_value(_group(chance.randrange(4)))
    if data and chance.random() < 0.3:
        data = bytes((0, chance.randrange(6))) + data[2:]  # another version
    return edited(data, chance) if chance.random() < 0.8 else data
