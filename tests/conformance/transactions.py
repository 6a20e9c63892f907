"""The cases of transactions, played to a server at a port and compared with the record of a real Kafka.

`record_transactions` plays them to a Kafka and writes corpus/transactions.json. `play` plays them to any server that
has the settings of their kind, see `settings_of`; nothing is needed of the server but its port. Each run of the same
server needs a name of its own, because topics, groups and transactional ids stay.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, TypeAlias

from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from tests.conformance import transaction_broker_cases, transaction_data_cases, transaction_offset_cases
from tests.conformance.transaction_cases import CASES as CASES
from tests.conformance.transaction_cases import Case, Kind
from tests.conformance.transaction_play import Play, Step
from tests.support.eventually import eventually
from tests.support.wire import call

RECORDED: Final = Path(__file__).parent / "corpus" / "transactions.json"
RECORDED_LOGS: Final = Path(__file__).parent / "corpus" / "transaction_logs.json"
MODULES: Final = (transaction_data_cases, transaction_offset_cases, transaction_broker_cases)
"""Their import adds their cases to CASES."""
LOGGED: Final = frozenset(
    {
        "init-raises",
        "init-given",
        "life",
        "fence",
        "fence-tv2",
        "fence-after-tv2",
        "add-odd",
        "end-tv2-commit",
        "end-tv2-empty",
        "end-tv2-abort-after-commit",
        "end-mixed",
        "end-tv1-of-tv2",
        "tv2-flow",
        "timeout",
        "timeout-tv2",
        "expired",
        "offsets-committed",
        "offsets-aborted",
        "offsets-of-members",
    }
)
"""Keys of the cases whose log records are kept."""

SETTINGS: Final = {
    "offsets.topic.num.partitions": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    "group.initial.rebalance.delay.ms": "0",
}
EXPIRING_SETTINGS: Final = {
    **SETTINGS,
    "log.retention.check.interval.ms": "200",  # with it ours looks for producers that are silent
    "transactional.id.expiration.ms": "1000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "200",
    "producer.id.expiration.ms": "1000",
    "producer.id.expiration.check.interval.ms": "200",
}

SERVERS: Final = (
    {Kind.ANY, Kind.BETWEEN_BROKERS, Kind.SLOW},
    {Kind.EXPIRING},
    {Kind.RESTARTED},
)
"""Kinds of cases that are played to one server."""
READY_S: Final = 1.5

Answers: TypeAlias = dict[str, list[Step]]


def settings_of(kind: Kind) -> dict[str, str]:
    """Return the settings of a server for the cases of a kind."""
    return EXPIRING_SETTINGS if kind is Kind.EXPIRING else SETTINGS


def by_server(kinds: Iterable[Kind] = tuple(Kind)) -> Iterator[tuple[dict[str, str], list[Case]]]:
    """Return settings, and the cases for a server that has them."""
    wanted = set(kinds)
    for together in SERVERS:
        some = [each for each in CASES if each.kind in wanted & together]
        if some:
            yield settings_of(some[0].kind), some


def recorded() -> Answers:
    answers: Answers = json.loads(RECORDED.read_text())["answers"]
    return answers


def await_coordinator(port: int) -> None:
    """Wait until a server has coordinated transactions for a while.

    A Kafka does so a moment after it was first asked. After a restart it reads its log twice, and refuses meanwhile.
    """
    since = time.monotonic()

    def is_there() -> bool:
        nonlocal since
        if not _coordinates(port):
            since = time.monotonic()
        return time.monotonic() - since > READY_S

    eventually(is_there, "the server coordinates transactions", within_s=60)


def _coordinates(port: int) -> bool:
    found = call(port, FindCoordinatorRequest(key_type=1, coordinator_keys=["ready"]), 4).coordinators[0]
    if found.error_code != 0:
        return False
    given = [call(port, InitProducerIdRequest(name, 60_000), 4) for name in ("ready", None)]
    return all(each.error_code == 0 for each in given)


def play(port: int, cases: Iterable[Case], *, run: str, restart: Callable[[], object] | None = None) -> Answers:
    """Play cases one after another; return the steps of each by the name of the case.

    `restart` kills the server and starts it again on the same port.
    """
    await_coordinator(port)
    answers = {}
    for each in cases:
        play = Play(port, f"{run}{each.key}.", restart and (lambda: _restarted(port, restart)))
        each.play(play)
        answers[each.name] = play.steps
    return answers


def _restarted(port: int, restart: Callable[[], object]) -> None:
    restart()
    await_coordinator(port)


def differences(expected: Answers, found: Answers) -> dict[str, str]:
    """Return the first difference of each case that was found, by its name. Texts for people are not compared."""
    problems = {}
    for name, steps in found.items():
        for number, (wanted, seen) in enumerate(zip_longest(expected.get(name, ()), steps)):
            if _without_texts(wanted) != _without_texts(seen):
                problems[name] = f"{name}: step {number}: {_words(wanted, seen)}"
                break
    return problems


def _without_texts(answer: Any) -> Any:
    if isinstance(answer, Mapping):
        return {
            # The epoch of our coordinator does not rise with a restart.
            key: 0 if key == "coordinator_epoch" and value == "later" else _without_texts(value)
            for key, value in answer.items()
            if key != "error_message"
        }
    return [_without_texts(each) for each in answer] if isinstance(answer, list) else answer


def _words(wanted: Mapping[str, Any] | None, seen: Mapping[str, Any] | None) -> str:
    if wanted is None or seen is None or wanted.get("ask") != seen.get("ask"):
        return f"another step: {wanted} in the record, {seen} here"
    answers = json.dumps(wanted.get("answer")), json.dumps(seen.get("answer"))
    return f"{seen.get('ask') or seen}\n   recorded: {answers[0]}\n   here:     {answers[1]}"
