"""Tests of docs/protocol.md: every request has a row, a sentence or a reason."""

from __future__ import annotations

import json
from pathlib import Path

from coordinator.server.api.protocol_doc import KAFKA, NOT_SERVED, text
from coordinator.server.api.table import HANDLERS
from protocol.api_keys import ApiKey
from tests.protocol.definitions import PINNED

DECLARED_AND_NOT_SERVED = {"InitProducerId": 6}  # by Kafka: its newest version is not stable
PAGE = Path(__file__).resolve().parents[2] / "docs" / "protocol.md"


def test_the_page_is_what_the_table_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == text(), "run: make generate"


def test_each_request_of_kafkas_is_served_or_has_a_reason_why_not() -> None:
    reasons = [key for _, keys in NOT_SERVED for key in keys]
    assert len(reasons) == len(set(reasons))
    served = {key for key in HANDLERS if ApiKey(key).is_kafkas}
    assert served.isdisjoint(reasons)
    assert served | set(reasons) == set(KAFKA)


def test_what_is_served_is_within_what_kafka_ever_knew() -> None:
    for key, api in HANDLERS.items():
        if ApiKey(key).is_kafkas:
            assert api.max_version <= KAFKA[key][2], KAFKA[key][0]


def test_kafkas_newest_versions_are_no_older_than_in_its_definitions_that_we_hold() -> None:
    for name, forms in json.loads(PINNED.read_text(encoding="utf-8")).items():
        for facts in forms.values():
            if name.endswith("Request") and "key" in facts:
                ours = KAFKA[facts["key"]]
                assert ours[0] == name.removesuffix("Request")
                newest = int(facts["versions"].rpartition("-")[2])
                assert ours[2] >= newest or DECLARED_AND_NOT_SERVED[ours[0]] == newest
