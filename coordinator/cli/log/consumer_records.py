"""Records of KIP-848 groups for `coordinator log dump`: their fields as plain data, and one line for each record."""

from __future__ import annotations

import json
from typing import Any, Final

from coordinator.core.offsets.raw_records import CONSUMER_KEYS
from protocol.group_records import RecordKind, decode_record_key, decode_record_value

KINDS: Final = {
    RecordKind.CONSUMER_GROUP: "consumer group",
    RecordKind.CONSUMER_TOPICS: "consumer group topics",
    RecordKind.CONSUMER_MEMBER: "consumer group member",
    RecordKind.CONSUMER_TARGET_EPOCH: "consumer group target epoch",
    RecordKind.CONSUMER_TARGET: "consumer group target",
    RecordKind.CONSUMER_CURRENT: "consumer group assignment",
    RecordKind.CONSUMER_REGEX: "consumer group regex",
}
_RENAMED: Final = {"timestamp": "resolved_ms"}  # a record has a timestamp of its own
_TOPIC_ID: Final = "topic_id"
_NO_FIELDS: Final = frozenset({"log_offset", "timestamp", "kind", "group", "member", "regex", "tombstone"})


def is_consumer_record(key: bytes) -> bool:
    """Return whether a key is of a KIP-848 group."""
    return key[:2] in CONSUMER_KEYS


def consumer_facts(key_bytes: bytes, value: bytes | None) -> dict[str, Any]:
    """Return the content of a record. Topic ids are in hexadecimal. Raises DecodeError."""
    key = decode_record_key(key_bytes)
    assert key is not None, "its kind is known"
    facts: dict[str, Any] = {"kind": KINDS[key.kind], "group": key.group}
    if key.kind is RecordKind.CONSUMER_REGEX:
        facts["regex"] = key.second
    elif key.second:
        facts["member"] = key.second
    if value is None:
        return {**facts, "tombstone": True}
    fields: dict[str, Any] = _plain(decode_record_value(key.kind, value))
    return facts | {_RENAMED.get(name, name): each for name, each in fields.items()}


def consumer_line(facts: dict[str, Any]) -> str:
    """Return the line for what `consumer_facts` returned, without the log offset."""
    second = facts.get("member", facts.get("regex"))
    of = f" {second!r} of {facts['group']!r}" if second is not None else f" {facts['group']!r}"
    if "tombstone" in facts:
        return f"{facts['kind']}{of}: deleted"
    fields = {name: value for name, value in facts.items() if name not in _NO_FIELDS}
    return f"{facts['kind']}{of}: " + ", ".join(
        f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items()
    )


def _plain(value: Any, name: str = "") -> Any:
    if isinstance(value, bytes):
        return value.hex() if name == _TOPIC_ID else value.decode("utf-8", "backslashreplace")
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if hasattr(value, "__slots__"):
        return {each: _plain(getattr(value, each), each) for each in value.__slots__}
    return value
