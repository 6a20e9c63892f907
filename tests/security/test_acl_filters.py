"""Filters of access rules, ranges of hosts, and the document, by Kafka's rules."""

from __future__ import annotations

import json

import pytest

from coordinator.security.acl.document import AclDocumentError, document_of, parse_document
from coordinator.security.acl.filter import AclBindingFilter
from coordinator.security.acl.hosts import parse_address, parse_range
from coordinator.security.acl.model import AclBinding, AclOperation, PatternType, Permission, ResourceType

ORDERS = AclBinding(
    ResourceType.TOPIC, "orders", PatternType.LITERAL, "User:alice", "*", AclOperation.READ, Permission.ALLOW
)
PREFIX = ORDERS._replace(name="ord", pattern_type=PatternType.PREFIXED)
EVERY = ORDERS._replace(name="*")
ONLY_ORDERS = AclBindingFilter(*ORDERS)


@pytest.mark.parametrize(
    ("wanted", "matched"),
    [
        (AclBindingFilter(), [ORDERS, PREFIX, EVERY]),
        (AclBindingFilter(ResourceType.GROUP), []),
        (AclBindingFilter(ResourceType.UNKNOWN), []),
        (AclBindingFilter(name="orders"), [ORDERS]),
        (AclBindingFilter(name="*"), [EVERY]),
        (AclBindingFilter(name="orders", pattern_type=PatternType.MATCH), [ORDERS, PREFIX, EVERY]),
        (AclBindingFilter(name="ordinary", pattern_type=PatternType.MATCH), [PREFIX, EVERY]),
        (AclBindingFilter(name="ord", pattern_type=PatternType.PREFIXED), [PREFIX]),
        (AclBindingFilter(name="orders", pattern_type=PatternType.PREFIXED), []),
        (AclBindingFilter(pattern_type=PatternType.LITERAL), [ORDERS, EVERY]),
        (AclBindingFilter(pattern_type=PatternType.UNKNOWN), []),
        (AclBindingFilter(principal="User:*"), []),
        (AclBindingFilter(host="*", permission=Permission.ALLOW), [ORDERS, PREFIX, EVERY]),
        (AclBindingFilter(host="10.0.0.1"), []),
        (AclBindingFilter(operation=AclOperation.ALL), []),
        (AclBindingFilter(permission=Permission.DENY), []),
        (ONLY_ORDERS, [ORDERS]),
    ],
)
def test_a_filter_matches_rules(wanted: AclBindingFilter, matched: list[AclBinding]) -> None:
    assert [each for each in (ORDERS, PREFIX, EVERY) if wanted.matches(each)] == matched


def test_a_filter_without_a_choice_is_for_one_rule() -> None:
    assert ONLY_ORDERS.only() == ORDERS
    for field, wider in AclBindingFilter()._asdict().items():
        assert ONLY_ORDERS._replace(**{field: wider}).only() is None
    assert ONLY_ORDERS._replace(pattern_type=PatternType.MATCH).only() is None


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("10.0.0.0/8", "10.255.255.255", "11.0.0.0"),
        ("10.1.2.3/16", "10.1.0.0", "10.2.0.0"),
        ("10.0.0.1/32", "10.0.0.1", "10.0.0.2"),
        ("0.0.0.0/0", "255.255.255.255", "::1"),
        ("01.2.3.4/08", "1.9.9.9", "2.0.0.0"),
        ("::/0", "::1", "10.0.0.1"),
        ("fe80::/10", "febf::1%eth0", "fec0::1"),
        ("[::1]/+128", "::1", "::2"),
        ("10.0.0.0/8", "::ffff:10.0.0.1", "::ffff:11.0.0.1"),
    ],
)
def test_a_range_has_addresses(text: str, inside: str, outside: str) -> None:
    addresses = parse_address(inside), parse_address(outside)
    assert [address is not None and parse_range(text).has(address) for address in addresses] == [True, False]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("10.0.0.0/33", "Value [33] not in range [0,32]"),
        ("300.1.1.1/8", "Value [300] not in range [0,255]"),
        ("10.0.0/8", "Could not parse [10.0.0/8]"),
        ("*/8", "Could not parse [*/8]"),
        ("::1/129", "Could not parse [::1/129] - prefix length must be between 0 and 128"),
        ("::1/-1", "Could not parse [::1/-1] - prefix length must be between 0 and 128"),
        ("::1/", "Could not parse [::1/] - invalid prefix length"),
        ("/::1", "Could not parse [/::1] - invalid prefix length"),
        ("::/129999999999", "Could not parse [::/129999999999] - invalid prefix length"),
        ("zz:/2", "Could not parse [zz:]"),
        ("::ffff:0:0/96", "Could not parse [::ffff:0:0] - not an IPv6 address"),
    ],
)
def test_a_range_that_kafka_cannot_read_is_refused_in_its_words(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=r"^(Could|Value)") as raised:
        parse_range(text)
    assert str(raised.value) == reason


def test_a_document_has_all_rules_in_their_order() -> None:
    bindings = dict.fromkeys((PREFIX, ORDERS._replace(name='"\n\u20ac'), EVERY, ORDERS._replace(host="10.0.0.0/8")))
    text = document_of(bindings)
    assert list(parse_document(text)) == list(bindings)
    assert len(text.splitlines()) == 2 + len(bindings)
    assert parse_document(document_of({})) == {}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is not a document of access rules (JSONDecodeError)"),
        ("[]", "it is not a document of access rules (TypeError)"),
        ('{"version": 2, "acls": []}', "it has version 2, but only 1 is known"),
        ('{"version": 1, "acls": [{}]}', "it is not a document of access rules (KeyError)"),
        (
            json.dumps({"version": 1, "acls": [json.loads(document_of({ORDERS: None}))["acls"][0] | {"host": ""}]}),
            "one of its rules is not valid (Host pattern cannot be null or empty)",
        ),
    ],
)
def test_a_document_that_cannot_be_used_says_why(text: str, reason: str) -> None:
    with pytest.raises(AclDocumentError) as raised:
        parse_document(text)
    assert str(raised.value) == reason
