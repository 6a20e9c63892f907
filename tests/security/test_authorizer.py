"""The decision about access: Kafka's edge cases, and the index against a look at every rule."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.security.acl import authorizer as module
from coordinator.security.acl.authorizer import ALL_BITS, SUPPORTED_BITS, Authorizer
from coordinator.security.acl.hosts import host_of
from coordinator.security.acl.model import AclBinding, AclOperation, PatternType, Permission, Resource, ResourceType

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
READ, WRITE, DESCRIBE, ALL = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.ALL
ALLOW, DENY = Permission.ALLOW, Permission.DENY
HOST = "10.0.0.1"


def rule(
    permission: Permission = ALLOW,
    operation: AclOperation = READ,
    name: str = "orders",
    pattern_type: PatternType = LITERAL,
    *,
    resource_type: ResourceType = TOPIC,
    principal: str = "User:alice",
    host: str = "*",
) -> AclBinding:
    return AclBinding(resource_type, name, pattern_type, principal, host, operation, permission)


def authorizer(*rules: AclBinding, allow_if_no_acl: bool = False) -> Authorizer:
    return Authorizer(dict.fromkeys(rules), frozenset({"User:root"}), allow_if_no_acl=allow_if_no_acl)


IMPLIED = [
    *((each, DESCRIBE) for each in (READ, WRITE, AclOperation.DELETE, AclOperation.ALTER)),
    (AclOperation.ALTER_CONFIGS, AclOperation.DESCRIBE_CONFIGS),
]


@pytest.mark.parametrize(
    ("rules", "is_allowed"),
    [
        ([], False),
        ([rule()], True),
        ([rule(operation=ALL)], True),
        ([rule(operation=WRITE)], False),
        ([rule(), rule(DENY)], False),
        ([rule(), rule(DENY, ALL, "ord", PREFIXED)], False),
        ([rule(), rule(DENY, name="*")], False),
        ([rule(), rule(DENY, WRITE)], True),
        ([rule(), rule(DENY, host="10.0.0.2")], True),
        ([rule(), rule(DENY, host="10.0.0.0/8")], False),
        ([rule(), rule(DENY, principal="User:*")], False),
        ([rule(), rule(DENY, principal="User:bob")], True),
        ([rule(name="ord", pattern_type=PREFIXED)], True),
        ([rule(name="orders", pattern_type=PREFIXED)], True),
        ([rule(name="orders-", pattern_type=PREFIXED)], False),
        ([rule(name="ord")], False),
        ([rule(name="*")], True),
        ([rule(name="*", pattern_type=PREFIXED)], False),
        ([rule(principal="User:*")], True),
        ([rule(principal="Group:alice")], False),
        ([rule(resource_type=GROUP)], False),
        ([rule(host=HOST)], True),
        ([rule(host="10.0.0.2")], False),
        ([rule(host="10.0.0.0/31")], True),
        ([rule(host="::/0")], False),
    ],
)
def test_a_read_of_one_topic_is_decided(rules: list[AclBinding], is_allowed: bool) -> None:
    assert authorizer(*rules).allows("User:alice", HOST, READ, Resource(TOPIC, "orders")) is is_allowed


def test_a_super_user_is_never_denied() -> None:
    denied = authorizer(rule(DENY, ALL, "*", principal="User:*"))
    assert denied.allowed("User:root", HOST, Resource(TOPIC, "orders")) == ALL_BITS
    assert denied.allows_on_any("User:root", HOST, WRITE, TOPIC)
    assert denied.reason("User:root", HOST, READ, Resource(TOPIC, "orders")) == "SuperUser"


@pytest.mark.parametrize(("operation", "implied"), IMPLIED)
def test_what_is_allowed_implies_more_and_what_is_denied_does_not(
    operation: AclOperation, implied: AclOperation
) -> None:
    resource = Resource(TOPIC, "orders")
    assert authorizer(rule(operation=operation)).allows("User:alice", HOST, implied, resource)
    both = authorizer(rule(DENY, operation), rule(operation=implied))
    assert both.allows("User:alice", HOST, implied, resource)
    assert not both.allows("User:alice", HOST, operation, resource)


def test_a_resource_without_any_rule_is_everyones_if_so_set() -> None:
    open_to_all = authorizer(rule(principal="User:bob", host="10.9.9.9"), allow_if_no_acl=True)
    assert open_to_all.allowed("User:alice", HOST, Resource(TOPIC, "other")) == ALL_BITS
    assert open_to_all.allowed("User:alice", HOST, Resource(TOPIC, "orders")) == 0
    assert open_to_all.allowed("User:alice", HOST, Resource(GROUP, "orders")) == ALL_BITS
    assert open_to_all.reason("User:alice", HOST, READ, Resource(TOPIC, "other")) == "DefaultAllow"
    assert open_to_all.reason("User:alice", HOST, READ, Resource(TOPIC, "orders")) == "DefaultDeny"


@pytest.mark.parametrize(
    ("rules", "is_allowed"),
    [
        ([], False),
        ([rule(operation=WRITE)], True),
        ([rule(operation=READ)], False),
        ([rule(operation=WRITE, resource_type=GROUP)], False),
        ([rule(operation=WRITE), rule(DENY, WRITE)], False),
        ([rule(operation=WRITE), rule(DENY, WRITE, "ord", PREFIXED)], False),
        ([rule(operation=WRITE), rule(DENY, WRITE, "orders-", PREFIXED)], True),
        ([rule(ALLOW, ALL, "ord", PREFIXED), rule(DENY, WRITE, "orders")], True),
        ([rule(ALLOW, ALL, "ord", PREFIXED), rule(DENY, WRITE, "ord", PREFIXED)], False),
        ([rule(ALLOW, ALL, "ord", PREFIXED), rule(DENY, WRITE, "ord", LITERAL)], True),
        ([rule(ALLOW, WRITE, "*"), rule(DENY, WRITE, "hardcode"), rule(DENY, WRITE, "a", PREFIXED)], True),
        ([rule(operation=WRITE), rule(DENY, ALL, "*")], False),
        ([rule(operation=WRITE), rule(DENY, ALL, "*", host="10.0.0.2")], True),
    ],
)
def test_a_write_to_any_topic_is_decided(rules: list[AclBinding], is_allowed: bool) -> None:
    assert authorizer(*rules).allows_on_any("User:alice", HOST, WRITE, TOPIC) is is_allowed


def test_describe_of_any_resource_is_not_implied() -> None:
    """Kafka's authorizeByResourceType compares operations."""
    assert not authorizer(rule()).allows_on_any("User:alice", HOST, DESCRIBE, TOPIC)


def test_a_change_of_the_rules_counts_for_what_was_decided_before() -> None:
    changed = authorizer(rule())
    resource = Resource(TOPIC, "orders")
    assert changed.allows("User:alice", HOST, READ, resource)
    assert changed.allows_on_any("User:alice", HOST, READ, TOPIC)
    changed.bindings = {rule(): None, rule(DENY, host="10.0.0.0/8"): None}
    assert not changed.allows("User:alice", HOST, READ, resource)
    assert not changed.allows_on_any("User:alice", HOST, READ, TOPIC)
    changed.bindings = {}
    assert changed.reason("User:alice", HOST, READ, resource) == "DefaultDeny"


def test_decisions_are_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_REMEMBERED", 3)
    bounded = authorizer(rule(name="t", pattern_type=PREFIXED))
    for number in range(10):
        assert bounded.allows("User:alice", f"10.0.0.{number}", READ, Resource(TOPIC, f"t{number}"))
        bounded.allows("User:alice", HOST, READ, Resource(TOPIC, "t" * 10_000))
        assert len(bounded._allowed) <= 3
        assert len(bounded._hosts) <= 3
        assert all(len(resource.name) < 1000 for _, _, resource in bounded._allowed)


@pytest.mark.parametrize(
    ("rules", "named"),
    [
        ([rule(), rule(name="*")], rule(name="*")),
        ([rule(), rule(name="o", pattern_type=PREFIXED)], rule(name="o", pattern_type=PREFIXED)),
        ([rule(), rule(operation=ALL)], rule()),
        ([rule(DENY), rule(DENY, name="*"), rule()], rule(DENY)),
    ],
)
def test_the_rule_that_kafka_names_decides(rules: list[AclBinding], named: AclBinding) -> None:
    reason = authorizer(*rules).reason("User:alice", HOST, READ, Resource(TOPIC, "orders"))
    assert f"resourceName={named.name}, patternType={named.pattern_type.name}," in reason
    assert f"operation={named.operation.name}, permissionType={named.permission.name}])" in reason


NAMES = ("*", "a", "ab", "abc", "b", "ba", "hardcode", "h", "é")
PRINCIPALS = ("User:alice", "User:bob", "User:*")
RULE_HOSTS = ("*", HOST, "10.0.0.0/8", "0:0:0:0:0:0:0:1", "::/64")
CLIENTS = (HOST, "10.2.0.0", "192.168.0.1", "0:0:0:0:0:0:0:1")
OPERATIONS = (READ, WRITE, DESCRIBE, AclOperation.ALTER_CONFIGS, AclOperation.DESCRIBE_CONFIGS)
rules = st.builds(
    AclBinding,
    st.sampled_from((TOPIC, TOPIC, GROUP)),
    st.sampled_from(NAMES),
    st.sampled_from((LITERAL, PREFIXED)),
    st.sampled_from(PRINCIPALS),
    st.sampled_from(RULE_HOSTS),
    st.sampled_from((*OPERATIONS, ALL)),
    st.sampled_from((ALLOW, ALLOW, DENY)),
)
IN_RANGE = {"10.0.0.0/8": (HOST, "10.2.0.0"), "::/64": ("0:0:0:0:0:0:0:1",)}


def is_for(each: AclBinding, principal: str, host: str, resource: Resource) -> bool:
    is_named = each.name in ("*", resource.name) if each.pattern_type == LITERAL else False
    is_prefix = each.pattern_type == PREFIXED and resource.name.startswith(each.name)
    return (
        each.resource_type == resource.type
        and (is_named or is_prefix)
        and each.principal in (principal, "User:*")
        and (each.host in ("*", host) or host in IN_RANGE.get(each.host, ()))
    )


def naively_allows(
    bindings: list[AclBinding], principal: str, host: str, operation: AclOperation, resource: Resource, *, default: bool
) -> bool:
    mine = [each for each in bindings if is_for(each, principal, host, resource)]
    if any(each.permission == DENY and each.operation in (ALL, operation) for each in mine):
        return False
    if any(
        each.permission == ALLOW and (each.operation in (ALL, operation) or (each.operation, operation) in IMPLIED)
        for each in mine
    ):
        return True
    anyone = (is_for(each._replace(principal="User:*", host="*"), principal, host, resource) for each in bindings)
    return default and not any(anyone)


@settings(max_examples=12, deadline=None)
@given(st.lists(st.lists(rules, max_size=12), min_size=1, max_size=3), st.booleans())
def test_the_index_decides_as_a_look_at_every_rule(states: list[list[AclBinding]], default: bool) -> None:
    indexed = authorizer(allow_if_no_acl=default)
    for bindings in states:
        indexed.bindings = dict.fromkeys(bindings)
        for principal, host in (("User:alice", HOST), *(("User:bob", host) for host in CLIENTS)):
            for resource in [Resource(TOPIC, name) for name in (*NAMES[1:], "abcd", "z")] + [Resource(GROUP, "ab")]:
                allowed = indexed.allowed(principal, host, resource)
                for each in OPERATIONS:
                    naive = naively_allows(bindings, principal, host, each, resource, default=default)
                    assert allowed >> each & 1 == naive, (principal, host, each, resource)
                named = indexed.reason(principal, host, READ, resource)
                is_named = "permissionType=ALLOW" in named or named == "DefaultAllow"
                assert is_named == indexed.allows(principal, host, READ, resource)


def test_ten_thousand_rules_are_looked_at_by_name_only(monkeypatch: pytest.MonkeyPatch) -> None:
    many = authorizer(*(rule(name=f"t{number}", pattern_type=PREFIXED) for number in range(10_000)))
    assert many.allows("User:alice", HOST, READ, Resource(TOPIC, "t1"))
    compared = 0

    class Counting(str):
        def startswith(self, *arguments: object) -> bool:  # type: ignore[override]
            nonlocal compared
            compared += 1
            return super().startswith(*arguments)  # type: ignore[arg-type]

    assert many.allows("User:alice", HOST, READ, Resource(TOPIC, Counting("t98765")))
    assert not many.allows("User:alice", HOST, READ, Resource(TOPIC, Counting("u")))
    assert compared < 20


def test_the_bits_of_kafkas_authorized_operations() -> None:
    assert SUPPORTED_BITS[TOPIC] == 3576
    assert SUPPORTED_BITS[GROUP] == 3400
    assert SUPPORTED_BITS[ResourceType.CLUSTER] == 8096


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("FE80::a%eth0", "fe80:0:0:0:0:0:0:a%eth0"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("not an address", "not an address"),
    ],
)
def test_an_address_is_written_as_java_writes_it(address: str, host: str) -> None:
    assert host_of(address) == host
