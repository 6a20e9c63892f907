"""The document of all access rules, in JSON with Kafka's words and a line for each rule."""

from __future__ import annotations

import json
from typing import Any, Final

from coordinator.security.acl.changes import problem_of
from coordinator.security.acl.model import AclBinding, AclBindings, AclOperation, PatternType, Permission, ResourceType
from coordinator.security.json_document import read_json

_VERSION: Final = 1


class AclDocumentError(ValueError):
    """The document cannot be used. The message says why."""


def document_of(bindings: AclBindings) -> str:
    """Return the document of these rules."""
    lines = ",\n".join(f"  {json.dumps(_entry_of(each))}" for each in bindings)
    return f'{{"version": {_VERSION}, "acls": [\n{lines}\n]}}\n'


def _entry_of(binding: AclBinding) -> dict[str, str]:
    return {
        "resourceType": binding.resource_type.name,
        "name": binding.name,
        "patternType": binding.pattern_type.name,
        "principal": binding.principal,
        "host": binding.host,
        "operation": binding.operation.name,
        "permission": binding.permission.name,
    }


def parse_document(text: str) -> AclBindings:
    """Return the rules of a document. Raises AclDocumentError."""
    try:
        found = read_json(text)
        if found["version"] != _VERSION:
            raise AclDocumentError(f"it has version {found['version']!r}, but only {_VERSION} is known")
        bindings = dict.fromkeys(map(_binding_of, found["acls"]))
    except AclDocumentError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise AclDocumentError(f"it is not a document of access rules ({type(error).__name__})") from None
    for each in bindings:
        problem = problem_of(each)
        if problem is not None:
            raise AclDocumentError(f"one of its rules is not valid ({problem})")
    return bindings


def _binding_of(entry: dict[str, Any]) -> AclBinding:
    return AclBinding(
        ResourceType[entry["resourceType"]],
        str(entry["name"]),
        PatternType[entry["patternType"]],
        str(entry["principal"]),
        str(entry["host"]),
        AclOperation[entry["operation"]],
        Permission[entry["permission"]],
    )
