"""Any values, in every version of every message, encode to the bytes of the oracle and decode to the same values.

The oracle (`interpreter.py`) interprets Kafka's definitions field by field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import codec
from protocol.errors import DecodeError, EncodeError
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from protocol.messages.join_group import JoinGroupResponse
from protocol.messages.metadata import MetadataRequest
from tests.protocol.definitions import Field, defined_versions, definition
from tests.protocol.interpreter import BELOW_NULL
from tests.protocol.interpreter import encode as oracle
from tests.protocol.messages import all_message_versions, all_messages, build, is_request, key_of

PER_VERSION = max(2, settings.default.max_examples // 10 if settings.default else 2)
"""There are hundreds of versions: each gets a share of the profile's examples."""

BITS = {"int8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32, "int64": 64}
# Lengths around those where a varint becomes longer, and text whose UTF-8 form is longer.
TEXTS = st.sampled_from(
    ["", "a", "orders", "ü€😀", "x" * 125, "x" * 126, "x" * 127, "x" * 128, "x" * 16383, "x" * 16384]
)
BLOBS = st.binary(max_size=4) | st.sampled_from([b"\0" * 126, b"\0" * 127, b"\xff" * 128])


def scalars(type_name: str) -> st.SearchStrategy[Any]:
    if type_name == "bool":
        return st.booleans()
    if type_name in BITS:
        unsigned = type_name.startswith("u")
        bits = BITS[type_name]
        low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        return st.integers(low, high)
    if type_name == "float64":
        return st.floats(allow_nan=False)
    if type_name == "uuid":
        return st.binary(min_size=16, max_size=16)
    return TEXTS if type_name == "string" else BLOBS


def values_of(field: Field) -> st.SearchStrategy[Any]:
    one = structs(field.fields) if field.is_struct else scalars(field.type)
    value = st.lists(one, max_size=2) if field.is_array else one
    return st.none() | value if field.nullable else value


@cache
def structs(fields: tuple[Field, ...]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({each.name: values_of(each) for each in fields})


def encode(name: str, version: int, message: Any) -> bytes:
    return codec.encode_request(message, version) if is_request(name) else codec.encode_response(message, version)


def decode(name: str, version: int, data: bytes, position: int = 0) -> Any:
    if is_request(name):
        return codec.decode_request(key_of(name), version, data, position)
    return codec.decode_response(key_of(name), version, data, position)


@pytest.mark.parametrize(("name", "version"), all_message_versions(), ids=lambda value: str(value))
def test_any_values_encode_to_the_oracles_bytes_and_round_trip(name: str, version: int) -> None:
    defined = definition(name, version)

    @settings(max_examples=PER_VERSION)
    @given(structs(defined.fields))
    def round_trip(values: dict[str, Any]) -> None:
        message = build(all_messages()[name], defined.fields, values)
        data = encode(name, version, message)
        assert data == oracle(defined, values)
        assert decode(name, version, data) == message
        assert decode(name, version, b"before" + data + b"behind", 6) == message

    round_trip()


OTHER_THAN_DEFAULT: dict[str, Any] = {"string": "x", "bytes": b"x", "records": b"x", "uuid": b"\1" * 16, "float64": 0.5}


def other_value(field: Field) -> Any:
    """Return a value of a plain type other than the default of the field."""
    if field.type == "bool":
        return not field.default_value()
    return OTHER_THAN_DEFAULT.get(field.type, 5)


def with_one_field(
    fields: tuple[Field, ...], wanted: Callable[[Field], bool], value: Callable[[Field], Any]
) -> Iterator[Any]:
    """Yield messages in which one field, at any depth, differs from its default; arrays around it have one element."""
    for field in fields:
        if wanted(field):
            yield {field.name: value(field)}
        if field.is_struct:
            for inner in with_one_field(field.fields, wanted, value):
                whole = {each.name: each.default_value() for each in field.fields} | inner
                yield {field.name: [whole] if field.is_array else whole}


@pytest.mark.parametrize("name", all_messages())
def test_each_field_alone_is_written_and_read_in_every_version(name: str) -> None:
    def plain(field: Field) -> bool:
        return not field.is_struct

    def one(field: Field) -> Any:
        return [other_value(field)] if field.is_array else other_value(field)

    for version in defined_versions(name):
        defined = definition(name, version)
        for values in [{}, *with_one_field(defined.fields, plain, one)]:
            message = build(all_messages()[name], defined.fields, values)
            data = encode(name, version, message)
            assert data == oracle(defined, values), (version, values)
            # Fields that this version lacks have their defaults, so the decoded message is equal.
            assert decode(name, version, data) == message, (version, values)


def has_a_length(field: Field) -> bool:
    return field.is_array or field.type in ("string", "bytes", "records")


@pytest.mark.parametrize("name", all_messages())
def test_a_null_is_read_where_a_version_allows_it_and_refused_elsewhere(name: str) -> None:
    def may_be_null(field: Field) -> bool:
        return has_a_length(field) and field.nullable

    def may_not(field: Field) -> bool:
        return has_a_length(field) and not field.nullable

    for version in defined_versions(name):
        defined = definition(name, version)
        for values in with_one_field(defined.fields, may_be_null, lambda _: None):
            message = build(all_messages()[name], defined.fields, values)
            assert decode(name, version, oracle(defined, values)) == message, (version, values)
        if not defined.flexible:  # there, any negative length means null, as in Kafka
            nulls = with_one_field(defined.fields, may_be_null, lambda _: None)
            below = with_one_field(defined.fields, may_be_null, lambda _: BELOW_NULL)
            for null, values in zip(nulls, below, strict=True):
                message = build(all_messages()[name], defined.fields, null)
                assert decode(name, version, oracle(defined, values)) == message, (version, values)
        bad = list(with_one_field(defined.fields, may_not, lambda _: None))
        if not defined.flexible:
            bad += with_one_field(defined.fields, may_not, lambda _: BELOW_NULL)
        for values in bad:
            with pytest.raises(DecodeError):
                decode(name, version, oracle(defined, values))


def test_a_null_that_this_version_does_not_allow_cannot_be_encoded() -> None:
    assert codec.encode_response(JoinGroupResponse(protocol_name=None), 7)
    for version in range(7):
        with pytest.raises(EncodeError):
            codec.encode_response(JoinGroupResponse(protocol_name=None), version)
    with pytest.raises(EncodeError, match="topics is null"):
        codec.encode_request(MetadataRequest(topics=None), 0)


def test_a_number_outside_its_range_cannot_be_encoded() -> None:
    with pytest.raises(EncodeError, match="HeartbeatResponse"):
        codec.encode_response(HeartbeatResponse(error_code=1 << 15), 0)
    with pytest.raises(EncodeError, match="HeartbeatRequest"):
        codec.encode_request(HeartbeatRequest(group_id="x" * (1 << 15)), 0)
    assert len(codec.encode_request(HeartbeatRequest(group_id="x" * (1 << 15)), 4)) > 1 << 15
