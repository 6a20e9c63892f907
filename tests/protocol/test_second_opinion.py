"""kio, an independent library generated from the same definitions, decodes the encoded bytes and encodes them again.

Only plausible values can be used, because kio reads milliseconds as durations and error codes as an enum.
"""

from __future__ import annotations

import io
from importlib import import_module
from typing import Any

import pytest
from kio.serial import entity_reader, entity_writer

from protocol import codec
from protocol.api_keys import ApiKey
from protocol.generate import class_name
from tests.protocol.definitions import Field, definition, snake_case
from tests.protocol.messages import KINDS, all_messages, build

OFTEN_USED = (
    ApiKey.PRODUCE,
    ApiKey.FETCH,
    ApiKey.LIST_OFFSETS,
    ApiKey.METADATA,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.FIND_COORDINATOR,
    ApiKey.JOIN_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.LIST_GROUPS,
    ApiKey.API_VERSIONS,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_GROUPS,
    ApiKey.OFFSET_DELETE,
    ApiKey.TXN_OFFSET_COMMIT,
)
SAMPLES: dict[str, Any] = {
    "string": "orders",
    "bytes": b"\0\1\2",
    "records": b"\3\4",
    "uuid": bytes(range(16)),
    "bool": True,
}


def sample(fields: tuple[Field, ...]) -> dict[str, Any]:
    """Return a message in which every field has another value than its default."""
    return {each.name: [_one(each), _one(each)] if each.is_array else _one(each) for each in fields}


def _one(field: Field) -> Any:
    return sample(field.fields) if field.is_struct else SAMPLES.get(field.type, 3)


def read_and_written_again(kio_class: Any, data: bytes) -> bytes:
    entity, size = entity_reader(kio_class)(data, 0)
    assert size == len(data)
    written = io.BytesIO()
    entity_writer(kio_class)(written, entity)
    return written.getvalue()


@pytest.mark.parametrize("key", OFTEN_USED, ids=lambda key: class_name(key, ""))
def test_kio_reads_encoded_messages_and_writes_the_same_bytes(key: ApiKey) -> None:
    package = import_module(f"kio.schema.{snake_case(class_name(key, ''))}")
    known = [version for version in codec.declared_versions(key) if has_version(package.__name__, version)]
    assert known, "kio no longer has this API"
    for kind in KINDS:
        name = class_name(key, kind)
        for version in known:
            fields = definition(name, version).fields
            message = build(all_messages()[name], fields, sample(fields))
            encode = codec.encode_request if kind == "Request" else codec.encode_response
            data = encode(message, version)
            kio_class = getattr(import_module(f"{package.__name__}.v{version}.{kind.lower()}"), name)
            assert read_and_written_again(kio_class, data) == data, (name, version)


def has_version(package: str, version: int) -> bool:
    try:
        import_module(f"{package}.v{version}")
    except ModuleNotFoundError:
        return False
    return True
