"""The decisions of AlterClientQuotas and DescribeClientQuotas (KIP-546).

Pure. Codes and texts are Kafka's. Kafka answers in the order of a hash table, here it is that of the request, or of the
entities. Kafka has no bound of entities, nor of the length of names; and it takes a name of a host as `ip`, which needs
a resolver, where here only addresses are taken.
Source: Kafka's `ClientQuotaControlManager` and `ClientQuotasImage.describe`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.security.acl.hosts import parse_address
from coordinator.security.quotas.model import CLIENT_ID, CLIENT_KEYS, ENTITY_TYPES, IP, IP_KEYS, USER, entity_of
from protocol.error_codes import ErrorCode
from protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    EntryResult,
)
from protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    ValueData,
)
from protocol.messages.describe_client_quotas import EntityData as DescribedEntity
from protocol.messages.describe_client_quotas import EntryData as DescribedEntry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from coordinator.security.quotas.model import Entity, QuotaMap

MAX_ENTITIES: Final = 10_000
MAX_NAME_CHARS: Final = 1024
EXAMINED_PER_STEP: Final = 500  # about a millisecond
EXACT, DEFAULT, SPECIFIED = range(3)  # match types of a filter; the last: any name, or the default


class _Refusal(NamedTuple):
    """The reason why an entity was not altered, or none described."""

    code: ErrorCode
    message: str


def alter(
    request: AlterClientQuotasRequest, max_entities: int, quotas: QuotaMap
) -> tuple[QuotaMap, AlterClientQuotasResponse]:
    """Return the quotas after a request, and its answer. A request that changes nothing returns the same object.

    An entity that is named again is answered with an error, and its first alteration stays. An alteration that sets a
    key twice is not made, and answered with the same text, as in Kafka.
    """
    after = dict(quotas)
    results: dict[Entity, _Refusal | None] = {}
    for entry in request.entries:
        entity = entity_of((each.entity_type, each.entity_name) for each in entry.entity)
        changes = {each.key: None if each.remove else each.value for each in entry.ops}
        if entity in results or len(changes) < len(entry.ops):
            results[entity] = _invalid(f"Ignoring duplicate entity {_text(entity)}")
            continue
        results[entity] = _refusal(entity, changes)
        if results[entity] is None:
            values = _changed(quotas.get(entity, {}), changes)
            if values and entity not in after and len(after) >= max_entities:
                results[entity] = _Refusal(
                    ErrorCode.POLICY_VIOLATION,
                    f"There are {len(after)} entities with quotas already, and there may be {max_entities}; remove "
                    "some quotas first",
                )
            elif values:
                after[entity] = values
            else:
                after.pop(entity, None)
    is_changed = not request.validate_only and after != quotas
    entries = [_result(entity, refusal) for entity, refusal in results.items()]
    return after if is_changed else quotas, AlterClientQuotasResponse(entries=entries)


def _changed(before: Mapping[str, float], changes: Mapping[str, float | None]) -> dict[str, float]:
    return {key: value for key, value in {**before, **changes}.items() if value is not None}


def _refusal(entity: Entity, changes: Mapping[str, float | None]) -> _Refusal | None:
    problem = problem_of(entity)
    for key, value in changes.items():
        if problem is None and value is not None:
            problem = problem_of_value(entity, key, value)
    return None if problem is None else _invalid(problem)


def _invalid(message: str) -> _Refusal:
    return _Refusal(ErrorCode.INVALID_REQUEST, message)


def problem_of(entity: Entity) -> str | None:
    """Return why an entity can have no quotas; None if it can."""
    if not entity:
        return "Invalid empty client quota entity"
    for kind, name in entity:
        if kind not in ENTITY_TYPES:
            return f"Unhandled client quota entity type: {kind}"
        if name == "":
            return f"Empty {kind} not supported"
        if name is not None and len(name) > MAX_NAME_CHARS:
            return f"The name of a {kind} has more than {MAX_NAME_CHARS} characters; use a shorter one"
    names = dict(entity)
    if IP in names:
        if len(names) > 1:
            return "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"
        address = names[IP]
        if address is not None and parse_address(address) is None:
            return f"{address} is not a valid IP or resolvable host."
    return None


def problem_of_value(entity: Entity, key: str, value: float) -> str | None:
    """Return why an entity cannot have this quota; None if it can."""
    kind = (IP_KEYS if entity[0][0] == IP else CLIENT_KEYS).get(key)
    if kind is None:
        return f"Invalid configuration key {key}"
    if not math.isfinite(value):
        return f"Quota {key} must be a finite number"
    if value <= 0:
        return f"Quota {key} must be greater than 0"
    if kind.largest is None:
        return None
    if value > kind.largest:
        return f"Proposed value for {key} is too large for {kind.name}."
    return f"{key} cannot be a fractional value." if value % 1 > 1e-6 else None


def _text(entity: Entity) -> str:
    names = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in entity)
    return f"ClientQuotaEntity(entries={{{names}}})"


def _result(entity: Entity, refusal: _Refusal | None) -> EntryResult:
    names = [EntityData(kind, name) for kind, name in entity]
    return EntryResult(0, None, names) if refusal is None else EntryResult(*refusal, names)


def refuse(request: AlterClientQuotasRequest, code: ErrorCode, message: str | None) -> AlterClientQuotasResponse:
    """Return the answer that no entity was altered."""
    return AlterClientQuotasResponse(entries=[_refused(each, code, message) for each in request.entries])


def _refused(entry: EntryData, code: ErrorCode, message: str | None) -> EntryResult:
    return EntryResult(code, message, entry.entity)


class _Filter:
    """Entities that have all of these types, with these names if they are given."""

    def __init__(self, *, is_strict: bool) -> None:
        self._is_strict = is_strict
        self._names: dict[str, str | None] = {}
        self._types: set[str] = set()

    def add(self, component: ComponentData) -> _Refusal | None:
        kind, match = component.entity_type, component.match
        if not kind:
            return _invalid("Invalid empty entity type.")
        if kind in self._names or kind in self._types:
            return _invalid(f"Entity type {kind} cannot appear more than once in the filter.")
        if kind not in ENTITY_TYPES:
            return _Refusal(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
        if component.match_type == EXACT:
            if match is None:
                return _invalid("Request specified MATCH_TYPE_EXACT, but set match string to null.")
            self._names[kind] = match
        elif component.match_type == DEFAULT:
            if match is not None:
                return _invalid("Request specified MATCH_TYPE_DEFAULT, but also specified a match string.")
            self._names[kind] = None
        elif component.match_type == SPECIFIED:
            if match is not None:
                return _invalid("Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.")
            self._types.add(kind)
        else:
            return _invalid(f"Unknown match type {component.match_type}")
        return None

    def problem(self) -> _Refusal | None:
        kinds = self._names.keys() | self._types
        if IP in kinds and not kinds.isdisjoint((USER, CLIENT_ID)):
            return _invalid(
                "Invalid entity filter component combination. IP filter component should not be used with user or "
                "clientId filter component."
            )
        return None

    def matches(self, entity: Entity) -> bool:
        names = dict(entity)
        if self._is_strict and len(names) != len(self._names) + len(self._types):
            return False
        return self._names.items() <= names.items() and self._types <= names.keys()


def describe(
    request: DescribeClientQuotasRequest, quotas: QuotaMap, response: DescribeClientQuotasResponse
) -> Iterator[None]:
    """Fill in the answer, in steps: the entities that match all components."""
    entries: list[DescribedEntry] = []
    response.entries = entries
    wanted = _Filter(is_strict=request.strict)
    refusal = next(filter(None, map(wanted.add, request.components)), None) or wanted.problem()
    if refusal is not None:
        response.error_code, response.error_message = refusal
        return
    for number, (entity, values) in enumerate(quotas.items(), 1):
        if wanted.matches(entity):
            names = [DescribedEntity(kind, name) for kind, name in entity]
            entries.append(DescribedEntry(names, [ValueData(*each) for each in sorted(values.items())]))
        if number % EXAMINED_PER_STEP == 0:
            yield
