"""The eight levels of Kafka's `ClientQuotaManager`: which quota applies to a client, and whose rate it limits."""

from __future__ import annotations

from itertools import combinations

import pytest

from coordinator.security.quotas.model import CLIENT_ID, USER, Entity, entity_of
from coordinator.security.quotas.precedence import applied

KEY = "request_rate"
ANN = (USER, "ann")
ANY_USER = (USER, None)
ETL = (CLIENT_ID, "etl")
ANY_CLIENT = (CLIENT_ID, None)

LEVELS = (
    ((ANN, ETL), ("ann", "etl")),
    ((ANN, ANY_CLIENT), ("ann", "etl")),
    ((ANN,), ("ann", "")),
    ((ANY_USER, ETL), ("ann", "etl")),
    ((ANY_USER, ANY_CLIENT), ("ann", "etl")),
    ((ANY_USER,), ("ann", "")),
    ((ETL,), ("", "etl")),
    ((ANY_CLIENT,), ("", "etl")),
)


@pytest.mark.parametrize("count", [1, 2, 8])
def test_of_several_levels_the_first_applies(count: int) -> None:
    for some in combinations(range(len(LEVELS)), count):
        quotas = {entity_of(LEVELS[number][0]): {KEY: number + 1.0} for number in some}
        assert applied(quotas, KEY, "ann", "etl") == (some[0] + 1.0, LEVELS[some[0]][1])


@pytest.mark.parametrize("parts", [part for part, _ in LEVELS if ANN in part or ETL in part])
def test_a_quota_with_a_name_is_not_for_another_client(parts: tuple[tuple[str, str | None], ...]) -> None:
    assert applied({entity_of(parts): {KEY: 1.0}}, KEY, "bob", "web") is None


def test_each_key_has_levels_of_its_own() -> None:
    quotas = {entity_of([ANN]): {"request_percentage": 1.0}, entity_of([ETL]): {KEY: 2.0}}
    assert applied(quotas, KEY, "ann", "etl") == (2.0, ("", "etl"))


@pytest.mark.parametrize(
    ("parts", "tags"),
    [
        *(((ANN, ANY_CLIENT), None), ((ANN,), ("ann", ""))),
        *(((ANY_USER, ANY_CLIENT), None), ((ANY_USER,), ("ann", "")), ((ANY_CLIENT,), None)),
    ],
)
def test_a_client_without_an_id_has_the_quotas_of_its_user_alone(
    parts: tuple[tuple[str, str | None], ...], tags: tuple[str, str] | None
) -> None:
    assert applied({entity_of(parts): {KEY: 1.0}}, KEY, "ann", "") == (tags and (1.0, tags))


def test_an_entity_has_each_type_once_and_in_one_order() -> None:
    entity: Entity = (("client-id", "etl"), ("user", None), ("ip", "x"), ("other", "y"))
    assert entity_of([("other", "y"), ("ip", "x"), ("user", "ann"), ("client-id", "etl"), ("user", None)]) == entity
