"""The decision whether a principal may do something: super users first, then DENY over ALLOW, then the default.

Rules are kept by the type of resource, principal and host that they are for; of one such subject, by name, with the
operations as bits. A decision looks at few subjects: the principal or User:*, and its host, `*` or ranges with it.
Which operations are allowed on a resource is remembered until the rules change.

A rule for `*` is for every name. Kafka misses it for names that begin with `*`, or hangs for some that sort before it.
Source: Kafka's `StandardAuthorizerData`, and `Authorizer.authorizeByResourceType`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias, TypeVar

from coordinator.security.acl.hosts import AddressRange, parse_address, parse_range
from coordinator.security.acl.model import (
    OPERATIONS,
    WILDCARD,
    AclBinding,
    AclBindings,
    AclOperation,
    PatternType,
    Permission,
    Resource,
    ResourceType,
)

EVERY_USER: Final = "User:*"
MOST_REMEMBERED: Final = 10_000
MAX_REMEMBERED_CHARS: Final = 256  # of a name, which a client chooses
ALL_BITS: Final = sum(1 << each for each in AclOperation if each > AclOperation.ALL)
SUPPORTED_BITS: Final = {key: sum(1 << each for each in operations) for key, operations in OPERATIONS.items()}
_SOME_NAME: Final = "hardcode"  # as in Kafka: it finds super users, and rules for every name

_IMPLIED: Final[Mapping[AclOperation, AclOperation]] = {
    AclOperation.READ: AclOperation.DESCRIBE,
    AclOperation.WRITE: AclOperation.DESCRIBE,
    AclOperation.DELETE: AclOperation.DESCRIBE,
    AclOperation.ALTER: AclOperation.DESCRIBE,
    AclOperation.ALTER_CONFIGS: AclOperation.DESCRIBE_CONFIGS,
}
_ALLOWED_BITS: Final = {each: 1 << each | 1 << _IMPLIED.get(each, each) for each in AclOperation} | {
    AclOperation.ALL: ALL_BITS
}
_DENIED_BITS: Final = {each: 1 << each for each in AclOperation} | {AclOperation.ALL: ALL_BITS}

_K = TypeVar("_K")
_V = TypeVar("_V")
_Subject: TypeAlias = tuple[str, str]  # principal and host, as in rules


class _Node:
    """The rules for one name. `deny` and `allow` are bits of operations, with those of `parent`."""

    __slots__ = ("allow", "bindings", "deny", "name", "parent")

    def __init__(self, name: str, bindings: list[AclBinding], parent: _Node | None) -> None:
        self.name = name
        self.bindings = bindings
        self.parent = parent
        self.deny: int = 0 if parent is None else parent.deny
        self.allow: int = 0 if parent is None else parent.allow
        for each in bindings:
            if each.permission == Permission.DENY:
                self.deny |= _DENIED_BITS[each.operation]
            else:
                self.allow |= _ALLOWED_BITS[each.operation]

    def all_bindings(self) -> Iterator[AclBinding]:
        """Yield the rules of this name and of the parents."""
        node: _Node | None = self
        while node is not None:
            yield from node.bindings
            node = node.parent


class _Rules:
    """Rules of one type of resource, by name.

    Prefixes are sorted. The parent of one is the longest other one that it begins with. All prefixes of a name are then
    found from the last one that is not behind the name: it and its parents.
    """

    __slots__ = ("_literals", "_names", "_prefixes")

    def __init__(self, bindings: Iterable[AclBinding]) -> None:
        literals: dict[str, list[AclBinding]] = {}
        prefixed: dict[str, list[AclBinding]] = {}
        for each in bindings:
            by_name = literals if each.pattern_type == PatternType.LITERAL else prefixed
            by_name.setdefault(each.name, []).append(each)
        self._literals = {name: _Node(name, some, None) for name, some in literals.items()}
        self._names = sorted(prefixed)
        self._prefixes: list[_Node] = []
        parent: _Node | None = None
        for name in self._names:
            while parent is not None and not name.startswith(parent.name):
                parent = parent.parent
            parent = _Node(name, prefixed[name], parent)
            self._prefixes.append(parent)

    def for_name(self, name: str) -> Iterator[_Node]:
        """Yield the rules for a name. Those for prefixes are one node with its parents."""
        node = self.for_prefixes(name)
        for each in (self._literals.get(name), node, self._literals.get(WILDCARD)):
            if each is not None:
                yield each

    def for_prefixes(self, name: str) -> _Node | None:
        """Return the rules for the longest prefix of a name."""
        at = bisect_right(self._names, name) - 1
        node = self._prefixes[at] if at >= 0 else None
        while node is not None and not name.startswith(node.name):
            node = node.parent
        return node

    def covers(self, binding: AclBinding) -> bool:
        """Return whether these rules are for every name that `binding` is for."""
        is_named = binding.pattern_type == PatternType.LITERAL and binding.name in self._literals
        return is_named or self.for_prefixes(binding.name) is not None


class Authorizer:
    """The rules and the settings that decide. `super_users` are principals, as User:admin."""

    def __init__(
        self, bindings: AclBindings, super_users: frozenset[str] = frozenset(), *, allow_if_no_acl: bool = False
    ) -> None:
        self._super_users = super_users
        self._allow_if_no_acl = allow_if_no_acl
        self._bindings: AclBindings = {}
        self._subjects: dict[ResourceType, dict[_Subject, dict[AclBinding, None]]] = {}
        self._rules: dict[tuple[ResourceType, _Subject | None], _Rules] = {}  # made from subjects when first needed
        self._ranges: dict[str, AddressRange] = {}
        self._hosts: dict[str, tuple[str, ...]] = {}
        self._allowed: dict[tuple[str, str, Resource], int] = {}
        self._allowed_on_any: dict[tuple[str, str, AclOperation, ResourceType], bool] = {}
        self.bindings = bindings

    @property
    def bindings(self) -> AclBindings:
        return self._bindings

    @bindings.setter
    def bindings(self, after: AclBindings) -> None:
        """Decide by these rules from now on. Only what a changed rule is about is made anew."""
        before, self._bindings = self._bindings, after
        for each in before.keys() - after.keys():
            del self._subjects_of(each)[each.principal, each.host][each]
            self._forget(each)
        for each in after.keys() - before.keys():
            self._subjects_of(each).setdefault((each.principal, each.host), {})[each] = None
            self._forget(each)
        hosts = {each.host for each in after}
        self._ranges = {host: self._ranges.get(host) or parse_range(host) for host in hosts if "/" in host}
        self._hosts.clear()
        self._allowed.clear()
        self._allowed_on_any.clear()

    def _subjects_of(self, binding: AclBinding) -> dict[_Subject, dict[AclBinding, None]]:
        return self._subjects.setdefault(binding.resource_type, {})

    def _forget(self, binding: AclBinding) -> None:
        subject = binding.principal, binding.host
        self._rules.pop((binding.resource_type, subject), None)
        self._rules.pop((binding.resource_type, None), None)
        subjects = self._subjects_of(binding)
        if not subjects[subject]:
            del subjects[subject]

    def allows(self, principal: str, host: str, operation: AclOperation, resource: Resource) -> bool:
        return self.allowed(principal, host, resource) >> operation & 1 == 1

    def allowed(self, principal: str, host: str, resource: Resource) -> int:
        """Return the operations that are allowed on a resource, as bits."""
        if principal in self._super_users:
            return ALL_BITS
        key = (principal, host, resource)
        found = self._allowed.get(key)
        if found is None:
            found = self._decide(principal, host, resource)
            if len(resource.name) <= MAX_REMEMBERED_CHARS:
                _remember(self._allowed, key, found)
        return found

    def _decide(self, principal: str, host: str, resource: Resource) -> int:
        deny = allow = 0
        for rules in self._rules_for(principal, host, resource.type):
            for node in rules.for_name(resource.name):
                deny |= node.deny
                allow |= node.allow
        if self._allow_if_no_acl and not self._has_rules(resource):
            return ALL_BITS
        return allow & ~deny

    def _has_rules(self, resource: Resource) -> bool:
        return next(self._made(resource.type, None).for_name(resource.name), None) is not None

    def _rules_for(self, principal: str, host: str, resource_type: ResourceType) -> Iterator[_Rules]:
        for subject in self._subjects_for(principal, host, resource_type):
            yield self._made(resource_type, subject)

    def _subjects_for(self, principal: str, host: str, resource_type: ResourceType) -> Iterator[_Subject]:
        subjects = self._subjects.get(resource_type, {})
        for who in dict.fromkeys((principal, EVERY_USER)):
            for where in self._hosts.get(host) or self._hosts_of(host):
                if (who, where) in subjects:
                    yield who, where

    def _hosts_of(self, host: str) -> tuple[str, ...]:
        """Return the hosts of rules that are for this address."""
        address = parse_address(host) if self._ranges else None
        ranges = () if address is None else (text for text, each in self._ranges.items() if each.has(address))
        return _remember(self._hosts, host, (host, WILDCARD, *ranges))

    def _made(self, resource_type: ResourceType, subject: _Subject | None) -> _Rules:
        """Return the rules of one type of resource, of one subject or of all."""
        found = self._rules.get((resource_type, subject))
        if found is None:
            subjects = self._subjects.get(resource_type, {})
            some = subjects.values() if subject is None else (subjects[subject],)
            found = self._rules[resource_type, subject] = _Rules(each for bindings in some for each in bindings)
        return found

    def allows_on_any(self, principal: str, host: str, operation: AclOperation, resource_type: ResourceType) -> bool:
        """Return whether the operation is allowed on at least one resource, also on one that does not exist."""
        key = (principal, host, operation, resource_type)
        found = self._allowed_on_any.get(key)
        if found is None:
            found = _remember(self._allowed_on_any, key, self._decide_on_any(*key))
        return found

    def _decide_on_any(self, principal: str, host: str, operation: AclOperation, resource_type: ResourceType) -> bool:
        if self.allows(principal, host, operation, Resource(resource_type, _SOME_NAME)):
            return True
        deny: list[AclBinding] = []
        allow: list[AclBinding] = []
        for subject in self._subjects_for(principal, host, resource_type):
            for each in self._subjects[resource_type][subject]:
                if each.operation in (operation, AclOperation.ALL):  # READ does not imply DESCRIBE here, as in Kafka
                    (deny if each.permission == Permission.DENY else allow).append(each)
        if any(map(_is_for_every_name, deny)):
            return False
        denied = _Rules(deny)
        return any(_is_for_every_name(each) or not denied.covers(each) for each in allow)

    def reason(self, principal: str, host: str, operation: AclOperation, resource: Resource) -> str:
        """Return the rule that decides, in Kafka's words for its audit log."""
        if principal in self._super_users:
            return "SuperUser"
        deny: list[AclBinding] = []
        allow: list[AclBinding] = []
        for rules in self._rules_for(principal, host, resource.type):
            for node in rules.for_name(resource.name):
                for each in node.all_bindings():
                    if each.permission == Permission.DENY:
                        deny += [each] * (_DENIED_BITS[each.operation] >> operation & 1)
                    else:
                        allow += [each] * (_ALLOWED_BITS[each.operation] >> operation & 1)
        if deny:
            return _words_of(min(deny, key=_order))
        if allow:
            return _words_of(max(allow, key=_order))
        return "DefaultAllow" if self.allows(principal, host, operation, resource) else "DefaultDeny"


def _remember(table: dict[_K, _V], key: _K, value: _V) -> _V:
    if len(table) >= MOST_REMEMBERED:
        table.clear()
    table[key] = value
    return value


def _is_for_every_name(binding: AclBinding) -> bool:
    return binding.name == WILDCARD and binding.pattern_type == PatternType.LITERAL


def _order(binding: AclBinding) -> tuple[object, ...]:
    """Return the place of a rule among those for one name (`StandardAcl.compareTo`): Kafka names one of several."""
    is_last, length = _is_for_every_name(binding), -len(binding.name)
    return is_last, length, binding.pattern_type, binding.operation, binding.principal, binding.host


def _words_of(binding: AclBinding) -> str:
    return (
        f"MatchingAcl(acl=StandardAcl[resourceType={binding.resource_type.name}, resourceName={binding.name}, "
        f"patternType={binding.pattern_type.name}, principal={binding.principal}, host={binding.host}, "
        f"operation={binding.operation.name}, permissionType={binding.permission.name}])"
    )
