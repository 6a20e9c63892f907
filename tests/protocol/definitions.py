"""Kafka's message definitions in a short form, and their reader: the independent side of the protocol tests.

`data/kafka_definitions.json` has for each message the facts of Kafka's schema: names, types, versions, nullable
versions, tags, defaults, flexible versions. A message may have two texts: `snapshot`, which has the oldest versions,
and `newer`, which applies to versions that the snapshot lacks. This module does not read `protocol.messages`.

`python -m tests.protocol.definitions FOLDER` writes the file again from a folder of Kafka's JSON schemas.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

PINNED = Path(__file__).parent / "data" / "kafka_definitions.json"
KAFKA_MESSAGES = Path(__file__).resolve().parents[3] / "shared" / "kafka-messages"
FORMS = ("snapshot", "newer")
RECORDS = {
    **dict.fromkeys(
        ("OffsetCommitKey", "OffsetCommitValue", "GroupMetadataKey", "GroupMetadataValue"), "group-coordinator"
    ),
    **{
        f"ShareGroup{name}Value": "group-coordinator"
        for name in ("Metadata", "MemberMetadata", "CurrentMemberAssignment")
    },
    **{f"ShareGroupTargetAssignment{name}Value": "group-coordinator" for name in ("Metadata", "Member")},
    "TransactionLogValue": "transaction-coordinator",
}
NOT_DECLARED = ("ListClientMetricsResources", "ShareGroup")  # prefixes of names
# Not in that folder: taken from the schemas of Kafka 4.4.0, and compared with a running Kafka by make conformance.
PINNED_BY_HAND = (
    "AlterClientQuotas",
    "AlterPartitionReassignments",
    "AlterReplicaLogDirs",
    "AlterUserScramCredentials",
    "DescribeClientQuotas",
    "DescribeUserScramCredentials",
    "ElectLeaders",
    "ListConfigResources",
    "ListPartitionReassignments",
    *(f"ConsumerGroup{name}Value" for name in ("Metadata", "PartitionMetadata", "MemberMetadata")),
    *(f"ConsumerGroup{name}Value" for name in ("TargetAssignmentMetadata", "TargetAssignmentMember")),
    *(f"ConsumerGroup{name}Value" for name in ("CurrentMemberAssignment", "RegularExpression")),
)
# Versions after those of that folder, likewise taken from Kafka 4.4.0: the form `newer` of these is written by hand.
NEWER_BY_HAND = tuple(
    f"{api}{kind}"
    for api in ("ApiVersions", "ConsumerGroupDescribe", "DeleteGroups", "TxnOffsetCommit")
    for kind in ("Request", "Response")
)
FIXED = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
}
PLAIN = frozenset(FIXED) | {"string", "bytes", "records", "uuid"}


# --- from Kafka's files to facts -------------------------------------------------------------------------------------


def condense(path: Path) -> dict[str, Any]:
    """Return the facts of one schema file, without prose, with struct definitions where they are used."""
    text = "\n".join(re.sub(r"(^|\s)//.*$", "", line) for line in path.read_text(encoding="utf-8").split("\n"))
    schema = json.loads(text)
    common = {each["name"]: each["fields"] for each in schema.get("commonStructs", [])}
    facts = {"versions": schema["validVersions"], "flexible": schema["flexibleVersions"]}
    if "apiKey" in schema:
        facts["key"] = schema["apiKey"]
    return facts | {"fields": [_condense_field(each, common) for each in schema["fields"]]}


def _condense_field(field: dict[str, Any], common: dict[str, Any]) -> dict[str, Any]:
    facts = {
        "name": field["name"],
        "type": field["type"],
        "versions": field.get("versions", field.get("taggedVersions")),
    }
    for ours, theirs in (("nullable", "nullableVersions"), ("tagged", "taggedVersions"), ("tag", "tag")):
        if theirs in field:
            facts[ours] = field[theirs]
    if "default" in field:
        default = field["default"]
        is_word = default is None or isinstance(default, bool)
        facts["default"] = json.dumps(default) if is_word else str(default)
        if default is None:  # without quotes, which Kafka's generator takes for no default
            facts["writes_null"] = True
    if field.get("flexibleVersions") == "none":
        facts["never_flexible"] = True
    base = field["type"].removeprefix("[]")
    if base not in PLAIN:
        facts["fields"] = [_condense_field(each, common) for each in field.get("fields") or common[base]]
    return facts


def condense_all(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the facts of every message in the folder, by name and form."""
    found: dict[str, dict[str, Any]] = {}
    for form, directory in zip(FORMS, (folder, folder / "newer"), strict=True):
        for path in sorted(directory.glob("*.json")):
            if not path.stem.startswith(NOT_DECLARED):
                found.setdefault(path.stem, {})[form] = condense(path)
    for name, module in RECORDS.items():
        found[name] = {"snapshot": condense(folder / module / f"{name}.json")}
    return found


def with_newer_by_hand(found: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the facts of a folder with those newer forms that are pinned by hand."""
    return found | {name: found[name] | {"newer": pinned()[name]["newer"]} for name in NEWER_BY_HAND}


def write(folder: Path) -> None:
    by_hand = {name: forms for name, forms in pinned().items() if name.startswith(PINNED_BY_HAND)}
    facts = sorted((with_newer_by_hand(condense_all(folder)) | by_hand).items())
    rows = (f'"{name}": {json.dumps(forms, separators=(",", ":"))}' for name, forms in facts)
    PINNED.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


# --- reading the facts -----------------------------------------------------------------------------------------------


def versions(text: str, last: int) -> range:
    """Return "2+", "0-3", "4" or "none" as a range that ends at `last`."""
    if text in ("none", ""):
        return range(0)
    first, _, end = text.rstrip("+").partition("-")
    return range(int(first), min(last, int(end) if end else last if text.endswith("+") else int(first)) + 1)


@dataclass(frozen=True)
class Field:
    """One field of a message in one version."""

    name: str
    type: str  # without the [] of an array
    is_array: bool
    nullable: bool
    tag: int | None
    default: str | None  # as the definition writes it; None if it does not
    compact: bool
    fields: tuple[Field, ...]  # of a struct, those of this version
    writes_null: bool = False  # in the tag section, because Kafka reads its absence as an empty value

    @property
    def is_struct(self) -> bool:
        return self.type not in PLAIN

    def default_value(self) -> Any:
        """Return the value of an absent field: a struct is None if it is null, else a dict."""
        if self.default == "null" or (self.default is None and self.type == "records"):
            return None
        if self.is_array:
            return []
        if self.is_struct:
            return {each.name: each.default_value() for each in self.fields}
        if self.type == "string":
            return self.default or ""
        if self.type in ("bytes", "uuid"):
            return b"" if self.type == "bytes" else bytes(16)
        if self.type == "bool":
            return self.default == "true"
        if self.type == "float64":
            return float(self.default or "0")
        return int(self.default or "0", 0)


@dataclass(frozen=True)
class Definition:
    """A message in one version."""

    name: str
    version: int
    flexible: bool
    fields: tuple[Field, ...]


@cache
def pinned() -> dict[str, dict[str, Any]]:
    facts: dict[str, dict[str, Any]] = json.loads(PINNED.read_text(encoding="utf-8"))
    return facts


def form_for(name: str, version: int) -> dict[str, Any]:
    """Return the text that applies to a version: the snapshot, where it has the version."""
    forms = pinned()[name]
    snapshot: dict[str, Any] = forms["snapshot"]
    if version in versions(snapshot["versions"], 1 << 15) or "newer" not in forms:
        return snapshot
    newer: dict[str, Any] = forms["newer"]
    return newer


def defined_versions(name: str) -> range:
    """Return all versions of a message that either text has."""
    ranges = [versions(form["versions"], 1 << 15) for form in pinned()[name].values()]
    return range(min(each.start for each in ranges), max(each.stop for each in ranges))


@cache
def definition(name: str, version: int) -> Definition:
    """Return a message as Kafka defines it in one version."""
    form = form_for(name, version)
    flexible = version in versions(form["flexible"], version)
    return Definition(name, version, flexible, _fields(form["fields"], version, flexible))


def _fields(facts: list[dict[str, Any]], version: int, flexible: bool) -> tuple[Field, ...]:
    return tuple(
        Field(
            name=each["name"],
            type=each["type"].removeprefix("[]"),
            is_array=each["type"].startswith("[]"),
            nullable=version in versions(each.get("nullable", "none"), version),
            tag=each["tag"] if version in versions(each.get("tagged", "none"), version) else None,
            default=each.get("default"),
            compact=flexible and not each.get("never_flexible", False),
            fields=_fields(each.get("fields", []), version, flexible),
            writes_null=each.get("writes_null", False),
        )
        for each in facts
        if version in versions(each["versions"], version)
    )


def snake_case(name: str) -> str:
    """Convert a name of Kafka to that of `protocol.messages`: GroupId -> group_id."""
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


if __name__ == "__main__":
    write(Path(sys.argv[1]))
