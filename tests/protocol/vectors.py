"""Test vectors in `data/wire_vectors.json`: bytes that other implementations wrote."""

from __future__ import annotations

import json
import uuid
from functools import cache
from pathlib import Path
from typing import Any

from tests.protocol.definitions import Field, definition
from tests.protocol.messages import all_messages, build

DATA = Path(__file__).parent / "data" / "wire_vectors.json"


@cache
def vectors() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads(DATA.read_text(encoding="utf-8"))
    return found


def ids(section: str) -> list[str]:
    return [each["id"] for each in vectors()[section]]


@cache
def by_id() -> dict[str, dict[str, Any]]:
    return {each["id"]: each for each in (*vectors()["messages"], *vectors()["captured"])}


def data_of(vector: dict[str, Any]) -> bytes:
    return bytes.fromhex(vector["hex"])


def message_name(vector: dict[str, Any]) -> str:
    return f"{vector['api']}{vector['direction'].capitalize()}"


def message_of(vector: dict[str, Any]) -> Any:
    """Return the message that the fields of the vector describe, as an object of its class."""
    name = message_name(vector)
    fields = definition(name, vector["version"]).fields
    return build(all_messages()[name], fields, plain_values(fields, vector["fields"]))


def plain_values(fields: tuple[Field, ...], values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a vector, with its hex strings and dashed uuids as bytes."""
    known = {each.name: each for each in fields}
    return {name: _plain(known[name], value) for name, value in values.items()}


def _plain(field: Field, value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(field, each) for each in value]
    if value is None:
        return None
    if field.is_struct:
        return plain_values(field.fields, value)
    if field.type in ("bytes", "records"):
        return bytes.fromhex(value)
    return uuid.UUID(value).bytes if field.type == "uuid" else value
