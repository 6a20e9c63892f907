"""The document of quotas."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coordinator.security.quotas.document import QuotaDocumentError, document_of, parse_document
from coordinator.security.quotas.model import NO_QUOTAS, QuotaMap

QUOTAS: QuotaMap = {
    (("client-id", None), ("user", "änn \n")): {"request_rate": 0.1, "producer_byte_rate": 1048576.0},
    (("ip", "::1"),): {"connection_creation_rate": 5.0},
}


@pytest.mark.parametrize("quotas", [QUOTAS, NO_QUOTAS])
def test_quotas_are_read_as_they_were_written(quotas: QuotaMap) -> None:
    assert parse_document(document_of(quotas)) == quotas


def test_the_document_has_a_line_for_each_entity() -> None:
    lines = document_of(QUOTAS).splitlines()
    assert json.loads(lines[2]) == {"entity": {"ip": "::1"}, "values": {"connection_creation_rate": 5.0}}
    assert len(lines) == 4


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"entity": {}, "values": {}}, "Invalid empty client quota entity"),
        ({"entity": {"user": "a"}, "values": {"x": 1}}, "Invalid configuration key x"),
        ({"entity": {"user": "a"}, "values": {"request_rate": 0}}, "Quota request_rate must be greater than 0"),
    ],
)
def test_a_quota_that_no_client_could_set_is_refused(entry: dict[str, Any], reason: str) -> None:
    with pytest.raises(QuotaDocumentError, match=f"one of its quotas is not valid .{reason}"):
        parse_document(json.dumps({"version": 1, "quotas": [entry]}))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is not a document of quotas .JSONDecodeError"),
        ("[]", "it is not a document of quotas .TypeError"),
        ('{"version": 2}', "it has version 2, but only 1 is known"),
        ('{"version": 1}', "it is not a document of quotas .KeyError"),
        ('{"version": 1, "quotas": [7]}', "it is not a document of quotas .TypeError"),
        ('{"version": 1, "quotas": [{"entity": {"user": "a"}, "values": {"request_rate": "x"}}]}', "it is not a doc"),
    ],
)
def test_another_text_is_refused(text: str, reason: str) -> None:
    with pytest.raises(QuotaDocumentError, match=reason):
        parse_document(text)
