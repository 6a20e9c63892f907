"""The page about events has each field of each record, each cause and each kind, and examples that are events."""

from __future__ import annotations

import json
import re
from enum import Enum

import msgspec
import pytest

from coordinator.core.events.model import (
    Cause,
    Change,
    ChangeKind,
    ClientInfo,
    Event,
    Incident,
    IncidentKind,
    Rebalance,
    RebalanceOutcome,
    Share,
    Trigger,
    Wait,
    decode_event,
    encode,
)
from tests.docs.blocks import ROOT

PAGE = (ROOT / "docs" / "group-events.md").read_text(encoding="utf-8")


def rows(heading: str) -> dict[str, str]:
    """Return the table under a heading: the first column, without its marks, and the second."""
    section = re.split(r"^#+ ", PAGE.partition(f"\n### {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    found = re.findall(r"^\| `([^`]+)` \| (.+?) \|$", section, flags=re.MULTILINE)
    assert found and len(dict(found)) == len(found)
    return dict(found)


def test_the_fields_of_every_event_are_described() -> None:
    assert set(rows("Event")) == {"kind", *Event.__struct_fields__}


@pytest.mark.parametrize("struct", [Rebalance, Incident, Trigger, Change, Share, ClientInfo], ids=lambda s: s.__name__)
def test_each_field_of_a_record_is_described(struct: type[msgspec.Struct]) -> None:
    inherited = set(Event.__struct_fields__) if issubclass(struct, Event) else set()
    assert set(rows(struct.__name__)) == set(struct.__struct_fields__) - inherited


@pytest.mark.parametrize(("heading", "values"), [("Causes", Cause), ("Kinds of incidents", IncidentKind)])
def test_each_value_is_described(heading: str, values: type[Enum]) -> None:
    assert set(rows(heading)) == {each.value for each in values}


@pytest.mark.parametrize(
    ("heading", "field", "values"),
    [
        ("Rebalance", "outcome", {each.value for each in RebalanceOutcome} - {"running"}),
        ("Change", "kind", {each.value for each in ChangeKind}),
        ("Incident", "reason", {each.value for each in Wait} - {"nothing"}),
    ],
)
def test_the_values_of_a_field_are_named_with_it(heading: str, field: str, values: set[str]) -> None:
    assert set(re.findall(r"`([a-z_]+)`", rows(heading)[field])) == values


def test_the_examples_are_events() -> None:
    examples = re.findall(r"^```json\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert len(examples) == 2
    for example in examples:
        event = decode_event(example.encode())
        assert json.loads(encode(event)) == json.loads(example), "each field of the example is one of the record"
