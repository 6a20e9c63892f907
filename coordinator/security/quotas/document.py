"""The document of all quotas, in JSON with Kafka's words and a line for each entity. A name of null is the default."""

from __future__ import annotations

import json
from typing import Any, Final

from coordinator.security.json_document import read_json
from coordinator.security.quotas.changes import problem_of, problem_of_value
from coordinator.security.quotas.model import Entity, QuotaMap, entity_of

_VERSION: Final = 1


class QuotaDocumentError(ValueError):
    """The document cannot be used. The message says why."""


def document_of(quotas: QuotaMap) -> str:
    """Return the document of these quotas."""
    entries = ({"entity": dict(entity), "values": dict(values)} for entity, values in quotas.items())
    lines = ",\n".join(f"  {json.dumps(each)}" for each in entries)
    return f'{{"version": {_VERSION}, "quotas": [\n{lines}\n]}}\n'


def parse_document(text: str) -> QuotaMap:
    """Return the quotas of a document. Raises QuotaDocumentError."""
    try:
        found = read_json(text)
        if found["version"] != _VERSION:
            raise QuotaDocumentError(f"it has version {found['version']!r}, but only {_VERSION} is known")
        return dict(map(_entry_of, found["quotas"]))
    except QuotaDocumentError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise QuotaDocumentError(f"it is not a document of quotas ({type(error).__name__})") from None


def _entry_of(entry: dict[str, Any]) -> tuple[Entity, dict[str, float]]:
    entity = entity_of((kind, None if name is None else str(name)) for kind, name in entry["entity"].items())
    values = {key: float(value) for key, value in entry["values"].items()}
    problem = problem_of(entity)
    for key, value in values.items():
        problem = problem or problem_of_value(entity, key, value)
    if problem is not None:
        raise QuotaDocumentError(f"one of its quotas is not valid ({problem})")
    return entity, values
