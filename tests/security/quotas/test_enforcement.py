"""The enforcement of quotas in virtual time (KIP-13, KIP-124, KIP-219, KIP-599, KIP-612)."""

from __future__ import annotations

from collections import Counter

import pytest

from coordinator.security.quotas import enforcement
from coordinator.security.quotas.enforcement import Quotas
from coordinator.security.quotas.model import CLIENT_ID, IP, USER, QuotaMap, entity_of

ANN = entity_of([(USER, "ann")])


def quotas_of(quotas: QuotaMap) -> Quotas:
    made = Quotas()
    made.update(quotas)
    return made


def requests_of(
    quotas: Quotas, clients: dict[tuple[str, str], float], seconds: int, used_s: float = 0.0
) -> Counter[tuple[str, str]]:
    """Have each client send so many requests a second, unless it is muted. Returns how many each has sent."""
    sent: Counter[tuple[str, str]] = Counter()
    free_ms = dict.fromkeys(clients, 0.0)
    while min(free_ms.values()) < seconds * 1000:
        client = min(free_ms, key=lambda each: free_ms[each])
        throttle_ms = quotas.charge(*client, seconds=used_s, now_ms=int(free_ms[client]))
        free_ms[client] += max(throttle_ms, 1000 / clients[client])
        sent[client] += 1
    return sent


@pytest.mark.parametrize("rate", [5, 100])
def test_a_client_at_twice_its_rate_comes_out_at_its_rate(rate: int) -> None:
    """Within 5 % in the long run; Kafka's windows let ten seconds differ by a fifth."""
    client = ("ann", "etl")
    assert requests_of(quotas_of({ANN: {"request_rate": rate}}), {client: 2 * rate}, 10)[client] < 12 * rate
    sent = requests_of(quotas_of({ANN: {"request_rate": rate}}), {client: 2 * rate}, 100)
    assert sent[client] == pytest.approx(100 * rate, rel=0.05)


def test_a_client_within_its_rate_is_never_muted() -> None:
    quotas = quotas_of({ANN: {"request_rate": 50}})
    assert not any(quotas.charge("ann", "etl", now_ms=number * 21) for number in range(3000))


def test_a_burst_of_ten_seconds_is_free_and_the_next_request_waits_until_it_is_paid() -> None:
    quotas = quotas_of({ANN: {"request_rate": 10}})
    assert {quotas.charge("ann", "etl", now_ms=0) for _ in range(100)} == {0}
    assert quotas.charge("ann", "etl", now_ms=0) == 100
    assert quotas.charge("ann", "etl", requests=0, now_ms=100) == 0


def test_clients_do_not_disturb_each_other() -> None:
    each = {entity_of([(USER, None)]): {"request_rate": 20.0}}
    ann, bob = ("ann", "etl"), ("bob", "etl")
    together = requests_of(quotas_of(each), {ann: 200, bob: 19}, 60)
    assert together[ann] == requests_of(quotas_of(each), {ann: 200}, 60)[ann] < 60 * 25
    assert together[bob] == pytest.approx(60 * 19, abs=1), "within its rate, and never muted"


def test_the_connections_of_a_user_share_the_rate_of_the_user() -> None:
    clients = {("ann", f"client-{number}"): 20.0 for number in range(5)}
    shared = requests_of(quotas_of({ANN: {"request_rate": 20}}), clients, 60)
    assert shared.total() == pytest.approx(60 * 20, rel=0.05)
    each = entity_of([(USER, "ann"), (CLIENT_ID, None)])
    assert set(requests_of(quotas_of({each: {"request_rate": 20}}), clients, 20).values()) == {400}


def test_the_time_of_the_loop_is_limited_and_a_delay_for_it_to_a_second() -> None:
    client = ("ann", "etl")
    sent = requests_of(quotas_of({ANN: {"request_percentage": 2}}), {client: 50}, 100, used_s=0.001)
    assert sent[client] == pytest.approx(100 * 20, rel=0.05)  # 20 of 1 ms are 2 % of a second
    quotas = quotas_of({ANN: {"request_percentage": 1}})
    assert quotas.charge("ann", "etl", seconds=0.1, now_ms=0) == 0
    assert quotas.charge("ann", "etl", seconds=0.001, now_ms=0) == 100
    assert quotas.charge("ann", "etl", seconds=60.0, now_ms=0) == 1000


@pytest.mark.parametrize(("key", "used"), [("producer_byte_rate", "bytes_in"), ("consumer_byte_rate", "bytes_out")])
def test_bytes_are_limited_by_their_direction(key: str, used: str) -> None:
    quotas = quotas_of({ANN: {key: 1000}})
    other = {"bytes_in": "bytes_out", "bytes_out": "bytes_in"}[used]
    assert quotas.charge("ann", "etl", now_ms=0, **{other: 10**9}) == 0
    assert quotas.charge("ann", "etl", now_ms=0, **{used: 10_000}) == 0
    assert quotas.charge("ann", "etl", now_ms=0, **{used: 2_000}) == 2000


def test_the_longest_delay_counts_and_fits_into_an_answer() -> None:
    quotas = quotas_of({ANN: {"request_rate": 0.1, "producer_byte_rate": 1, "request_percentage": 1e-9}})
    assert quotas.charge("ann", "etl", seconds=1.0, now_ms=0) == 1000
    assert quotas.charge("ann", "etl", now_ms=0) == 10_000
    assert quotas.charge("ann", "etl", bytes_in=1 << 40, now_ms=0) == (1 << 31) - 1


def test_a_client_without_a_quota_is_not_limited() -> None:
    quotas = quotas_of({ANN: {"request_rate": 0.001}})
    assert {quotas.charge("bob", "etl", bytes_in=10**9, seconds=1.0, now_ms=0) for _ in range(100)} == {0}


@pytest.mark.parametrize(
    ("parts", "key", "is_active"),
    [
        ((USER, "ann"), "request_rate", True),
        ((CLIENT_ID, None), "consumer_byte_rate", True),
        ((USER, "ann"), "controller_mutation_rate", True),
        ((IP, None), "connection_creation_rate", False),
    ],
)
def test_requests_are_charged_only_if_a_quota_needs_it(
    parts: tuple[str, str | None], key: str, is_active: bool
) -> None:
    quotas = Quotas()
    assert not quotas.is_active
    quotas.update({entity_of([parts]): {key: 1.0}})
    assert quotas.is_active == is_active
    quotas.update({})
    assert not quotas.is_active


def test_a_change_of_quotas_keeps_the_rates() -> None:
    quotas = quotas_of({ANN: {"request_rate": 100}})
    quotas.charge("ann", "etl", requests=500, now_ms=0)
    quotas.update({ANN: {"request_rate": 50}, entity_of([(USER, "bob")]): {"request_rate": 1}})
    assert quotas.charge("ann", "etl", requests=0, now_ms=0) == 0
    assert quotas.charge("ann", "etl", requests=100, now_ms=0) == 2000
    quotas.update({})
    assert quotas.charge("ann", "etl", requests=10_000, now_ms=0) == 0


def test_as_many_clients_are_kept_as_allowed_and_the_busy_ones_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enforcement, "MOST_CLIENTS", 3)
    quotas = quotas_of({entity_of([(USER, None)]): {"request_rate": 10}})
    for number in range(150):
        throttle_ms = quotas.charge("ann", f"client-{number}", now_ms=0)
        quotas.charge(f"user-{number}", "etl", now_ms=0)
    assert throttle_ms == 5000, "her rate outlives the client ids that she no longer uses"
    assert len(quotas._clients) == 3
    assert len(quotas._rates) <= 3


def test_a_client_is_forgotten_an_hour_after_its_last_request() -> None:
    quotas = quotas_of({entity_of([(USER, None)]): {"request_rate": 10}})
    quotas.charge("ann", "etl", now_ms=0)
    quotas.charge("bob", "etl", now_ms=1)
    quotas.charge("eve", "etl", now_ms=3_600_000)
    assert [user for user, _ in quotas._clients] == ["bob", "eve"]


def test_mutations_are_refused_while_tokens_are_owed() -> None:
    quotas = quotas_of({ANN: {"controller_mutation_rate": 2}})

    def mutate(count: int, now_ms: int) -> int:
        return quotas.charge_mutations("ann", "etl", count, is_strict=True, now_ms=now_ms)

    assert mutate(30, 0) == 0  # of 22
    assert mutate(1, 0) == 4000
    assert mutate(1, 3000) == 1000
    assert mutate(1, 4000) == 0
    assert mutate(1, 4000) == 500
    assert quotas.charge_mutations("bob", "etl", 10**6, is_strict=True, now_ms=0) == 0


def test_mutations_of_old_versions_are_made_and_the_client_waits() -> None:
    quotas = quotas_of({ANN: {"controller_mutation_rate": 2}})
    found = [quotas.charge_mutations("ann", "etl", count, is_strict=False, now_ms=0) for count in (22, 2, 2)]
    assert found == [0, 1000, 2000]


def test_connections_of_an_address_are_limited() -> None:
    rates = {entity_of([(IP, None)]): {"connection_creation_rate": 1.0}}
    quotas = quotas_of(rates | {entity_of([(IP, "::1")]): {"connection_creation_rate": 2.0}})
    assert {quotas.connection_throttle_ms("10.0.0.1", 0) for _ in range(10)} == {0}
    assert {quotas.connection_throttle_ms("10.0.0.1", 0) for _ in range(5)} == {1000}
    assert quotas.connection_throttle_ms("10.0.0.2", 0) == 0
    assert quotas.connection_throttle_ms("10.0.0.1", 998) == 2, "those that were refused do not count"
    assert quotas.connection_throttle_ms("10.0.0.1", 11_000) == 0
    assert [quotas.connection_throttle_ms("0:0:0:0:0:0:0:1", 0) for _ in range(21)] == [0] * 20 + [500]
    quotas.update({})
    assert quotas.connection_throttle_ms("10.0.0.1", 0) == 0


def test_as_many_addresses_are_kept_as_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enforcement, "MOST_CLIENTS", 3)
    quotas = quotas_of({entity_of([(IP, None)]): {"connection_creation_rate": 1.0}})
    for number in range(20):
        quotas.connection_throttle_ms(f"10.0.0.{number}", 0)
    assert list(quotas._connections) == ["10.0.0.17", "10.0.0.18", "10.0.0.19"]
