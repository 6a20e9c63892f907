"""The decisions about quotas, with the codes and texts of Kafka's ClientQuotaControlManager and ClientQuotasImage."""

from __future__ import annotations

import math

import pytest

from coordinator.security.quotas import changes
from coordinator.security.quotas.changes import DEFAULT, EXACT, SPECIFIED, alter, describe, refuse
from coordinator.security.quotas.model import CLIENT_ID, IP, USER, QuotaMap, entity_of
from protocol.error_codes import ErrorCode
from protocol.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

Parts = tuple[tuple[str, str | None], ...]
Results = list[tuple[Parts, int, str | None]]

ANN: Parts = ((USER, "ann"),)
ETL_OF_ANN: Parts = ((CLIENT_ID, "etl"), (USER, "ann"))
ANY_CLIENT_OF_ANN: Parts = ((CLIENT_ID, None), (USER, "ann"))
ANY_USER: Parts = ((USER, None),)
HOST: Parts = ((IP, "10.0.0.1"),)
QUOTAS: QuotaMap = {
    ANN: {"request_rate": 5.0, "request_percentage": 12.5},
    ETL_OF_ANN: {"request_rate": 1.0},
    ANY_CLIENT_OF_ANN: {"request_rate": 2.0},
    ANY_USER: {"request_rate": 3.0},
    HOST: {"connection_creation_rate": 4.0},
}


def entry(parts: Parts, *ops: tuple[str, float | None]) -> EntryData:
    """An alteration; None removes."""
    return EntryData(
        [EntityData(*each) for each in parts], [OpData(key, value or 0.0, value is None) for key, value in ops]
    )


def altered(*entries: EntryData, most: int = 100, validate_only: bool = False) -> tuple[QuotaMap, Results]:
    quotas, response = alter(AlterClientQuotasRequest(list(entries), validate_only), most, QUOTAS)
    results = [
        (tuple((part.entity_type, part.entity_name) for part in each.entity), each.error_code, each.error_message)
        for each in response.entries
    ]
    return quotas, results


def test_quotas_are_set_changed_and_removed() -> None:
    quotas, results = altered(
        entry(ANN, ("request_rate", 6.0), ("producer_byte_rate", 1e6), ("request_percentage", None)),
        entry(((USER, "bob"),), ("controller_mutation_rate", 0.5)),
        entry(HOST, ("connection_creation_rate", None)),
    )
    bob = ((USER, "bob"),)
    kept = {entity: values for entity, values in QUOTAS.items() if entity not in (ANN, HOST)}
    changed = {ANN: {"request_rate": 6.0, "producer_byte_rate": 1e6}, bob: {"controller_mutation_rate": 0.5}}
    assert quotas == kept | changed, "an entity without quotas is gone"
    assert results == [(ANN, 0, None), (bob, 0, None), (HOST, 0, None)]


def test_the_types_of_an_entity_have_no_order() -> None:
    quotas, results = altered(entry(((USER, "ann"), (CLIENT_ID, "etl")), ("request_rate", 9.0)))
    assert quotas[ETL_OF_ANN] == {"request_rate": 9.0}
    assert results == [(ETL_OF_ANN, 0, None)]


@pytest.mark.parametrize(
    "ops", [(("request_rate", 5.0),), (("producer_byte_rate", None),), (("no_such_key", None),), ()]
)
def test_an_alteration_that_changes_nothing_succeeds(ops: tuple[tuple[str, float | None], ...]) -> None:
    quotas, results = altered(entry(ANN, *ops))
    assert quotas is QUOTAS
    assert results == [(ANN, 0, None)]


def test_a_request_that_validates_only_changes_nothing() -> None:
    quotas, results = altered(entry(ANN, ("request_rate", 6.0)), entry(ANY_USER, ("x", 1.0)), validate_only=True)
    assert quotas is QUOTAS
    assert [code for _, code, _ in results] == [0, ErrorCode.INVALID_REQUEST]


COMBINED = "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((), "Invalid empty client quota entity"),
        (((USER, ""),), "Empty user not supported"),
        (((CLIENT_ID, ""),), "Empty client-id not supported"),
        (((IP, ""),), "Empty ip not supported"),
        ((("group", "g"),), "Unhandled client quota entity type: group"),
        (((IP, "10.0.0.1"), (USER, "ann")), COMBINED),
        (((IP, None), (CLIENT_ID, None)), COMBINED),
        (((IP, "10.0.0"),), "10.0.0 is not a valid IP or resolvable host."),
        (((USER, "n" * 1025),), "The name of a user has more than 1024 characters; use a shorter one"),
    ],
)
def test_an_entity_is_refused(parts: Parts, message: str) -> None:
    quotas, results = altered(entry(parts, ("request_rate", 1.0)), entry(ANN, ("request_rate", 9.0)))
    assert quotas == {**QUOTAS, ANN: {**QUOTAS[ANN], "request_rate": 9.0}}, "the others are altered"
    assert results == [(entity_of(parts), ErrorCode.INVALID_REQUEST, message), (ANN, 0, None)]


@pytest.mark.parametrize(
    ("parts", "key", "value", "message"),
    [
        (ANN, "retries", 1.0, "Invalid configuration key retries"),
        (ANN, "connection_creation_rate", 1.0, "Invalid configuration key connection_creation_rate"),
        (HOST, "request_rate", 1.0, "Invalid configuration key request_rate"),
        (ANN, "request_rate", -1.0, "Quota request_rate must be greater than 0"),
        (ANN, "request_rate", math.inf, "Quota request_rate must be a finite number"),
        (ANN, "request_rate", math.nan, "Quota request_rate must be a finite number"),
        (ANN, "producer_byte_rate", 1.5, "producer_byte_rate cannot be a fractional value."),
        (ANN, "consumer_byte_rate", 1e19, "Proposed value for consumer_byte_rate is too large for a LONG."),
        (
            HOST,
            "connection_creation_rate",
            2.0**31,
            "Proposed value for connection_creation_rate is too large for an INT.",
        ),
    ],
)
def test_a_quota_is_refused(parts: Parts, key: str, value: float, message: str) -> None:
    quotas, results = altered(entry(parts, ("request_percentage", None), (key, value)))
    assert quotas is QUOTAS
    assert results == [(parts, ErrorCode.INVALID_REQUEST, message)]


def test_a_quota_of_0_is_refused() -> None:
    request = AlterClientQuotasRequest([EntryData([EntityData(*ANN[0])], [OpData("request_rate", 0.0)])])
    assert alter(request, 100, QUOTAS)[1].entries[0].error_message == "Quota request_rate must be greater than 0"


@pytest.mark.parametrize(
    ("parts", "key", "value"),
    [
        (ANN, "consumer_byte_rate", 2.0**63),
        (HOST, "connection_creation_rate", 2.0**31 - 1),
        (ANN, "request_rate", 1e-9),
    ],
)
def test_a_quota_at_a_bound_is_set(parts: Parts, key: str, value: float) -> None:
    assert altered(entry(parts, (key, value)))[0][parts][key] == value


def test_an_entity_named_twice_keeps_its_first_alteration_and_is_answered_once() -> None:
    quotas, results = altered(entry(ETL_OF_ANN, ("request_rate", 8.0)), entry(ETL_OF_ANN, ("request_rate", 9.0)))
    assert quotas[ETL_OF_ANN] == {"request_rate": 8.0}
    message = "Ignoring duplicate entity ClientQuotaEntity(entries={client-id=etl, user=ann})"
    assert results == [(ETL_OF_ANN, ErrorCode.INVALID_REQUEST, message)]


def test_a_key_set_twice_alters_nothing() -> None:
    quotas, results = altered(entry(ANY_USER, ("request_rate", 8.0), ("request_rate", None)))
    assert quotas is QUOTAS
    message = "Ignoring duplicate entity ClientQuotaEntity(entries={user=null})"
    assert results == [(ANY_USER, ErrorCode.INVALID_REQUEST, message)]


def test_there_are_as_many_entities_as_allowed_and_one_more_is_refused() -> None:
    names = [((USER, name),) for name in ("bob", "eve")]
    entries = [entry(each, ("request_rate", 1.0)) for each in (*names, ANN)]
    quotas, results = altered(*entries, most=6)
    assert len(quotas) == 6
    message = "There are 6 entities with quotas already, and there may be 6; remove some quotas first"
    assert results == [(names[0], 0, None), (names[1], ErrorCode.POLICY_VIOLATION, message), (ANN, 0, None)]


def test_a_request_that_is_refused_names_its_entities() -> None:
    response = refuse(AlterClientQuotasRequest([entry(ETL_OF_ANN)]), ErrorCode.KAFKA_STORAGE_ERROR, "why")
    (result,) = response.entries
    assert (result.error_code, result.error_message) == (56, "why")
    assert result.entity == [EntityData(CLIENT_ID, "etl"), EntityData(USER, "ann")]


def described(
    *components: ComponentData, strict: bool = False
) -> tuple[list[Parts], DescribeClientQuotasResponse, int]:
    """Describe quotas. Returns the entities, the answer, and how often other events could run in between."""
    response = DescribeClientQuotasResponse()
    steps = sum(1 for _ in describe(DescribeClientQuotasRequest(list(components), strict), QUOTAS, response))
    assert response.entries is not None
    found = [tuple((part.entity_type, part.entity_name) for part in each.entity) for each in response.entries]
    return found, response, steps


@pytest.mark.parametrize(
    ("components", "loose", "strict"),
    [
        ([], [*QUOTAS], []),
        ([(USER, EXACT, "ann")], [ANN, ETL_OF_ANN, ANY_CLIENT_OF_ANN], [ANN]),
        ([(USER, EXACT, "bob")], [], []),
        ([(USER, DEFAULT, None)], [ANY_USER], [ANY_USER]),
        ([(CLIENT_ID, DEFAULT, None)], [ANY_CLIENT_OF_ANN], []),
        ([(USER, SPECIFIED, None)], [ANN, ETL_OF_ANN, ANY_CLIENT_OF_ANN, ANY_USER], [ANN, ANY_USER]),
        ([(CLIENT_ID, SPECIFIED, None), (USER, EXACT, "ann")], [ETL_OF_ANN, ANY_CLIENT_OF_ANN], None),
        ([(IP, SPECIFIED, None)], [HOST], [HOST]),
    ],
)
def test_entities_are_described_that_match_all_components(
    components: list[tuple[str, int, str | None]], loose: list[Parts], strict: list[Parts] | None
) -> None:
    wanted = [ComponentData(*each) for each in components]
    assert described(*wanted)[0] == loose
    assert described(*wanted, strict=True)[0] == (loose if strict is None else strict)


def test_the_quotas_of_an_entity_are_described() -> None:
    _, response, _ = described(ComponentData(USER, EXACT, "ann"), strict=True)
    (found,) = response.entries or ()
    assert [(each.key, each.value) for each in found.values] == [("request_percentage", 12.5), ("request_rate", 5.0)]
    assert (response.error_code, response.error_message) == (0, "")


IP_COMBINED = (
    "Invalid entity filter component combination. IP filter component should not be used with user or clientId filter "
    "component."
)


@pytest.mark.parametrize(
    ("components", "code", "message"),
    [
        ([("", EXACT, "x")], 42, "Invalid empty entity type."),
        (
            [(USER, EXACT, "x"), (USER, SPECIFIED, None)],
            42,
            "Entity type user cannot appear more than once in the filter.",
        ),
        (
            [(USER, SPECIFIED, None), (USER, EXACT, "x")],
            42,
            "Entity type user cannot appear more than once in the filter.",
        ),
        ([("group", EXACT, "x")], 35, "Unsupported entity type group"),
        ([(USER, EXACT, None)], 42, "Request specified MATCH_TYPE_EXACT, but set match string to null."),
        ([(USER, DEFAULT, "x")], 42, "Request specified MATCH_TYPE_DEFAULT, but also specified a match string."),
        ([(USER, SPECIFIED, "x")], 42, "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string."),
        ([(USER, 3, "x")], 42, "Unknown match type 3"),
        ([(IP, EXACT, "x"), (USER, SPECIFIED, None)], 42, IP_COMBINED),
        ([(CLIENT_ID, DEFAULT, None), (IP, SPECIFIED, None)], 42, IP_COMBINED),
    ],
)
def test_a_filter_is_refused(components: list[tuple[str, int, str | None]], code: int, message: str) -> None:
    found, response, _ = described(*(ComponentData(*each) for each in components))
    assert (found, response.error_code, response.error_message) == ([], code, message)


def test_many_entities_are_described_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "EXAMINED_PER_STEP", 2)
    found, _, steps = described()
    assert (len(found), steps) == (5, 2)
