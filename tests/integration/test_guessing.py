"""A client that guesses passwords as fast as it can, beside a group and clients that know theirs.

Half of the guessers wait for each answer, half hang up and try again. The figures are printed (`pytest -s`).
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from coordinator.config.config import Config
from coordinator.security.credentials import document_of
from coordinator.security.sasl_client import LoginError, log_in
from coordinator.security.scram import BY_NAME, credential_of
from coordinator.storage.file_names import USERS_NAME
from protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.support.eventually import eventually_async
from tests.support.prometheus import scrape
from tests.support.secured import Secured
from tests.support.wire import ConnectionEnded, Wire

pytestmark = pytest.mark.integration

TOPIC, GROUP, LATE_GROUP = "orders", "workers", "newcomers"
USERS: Final = {"alice": "the one that is guessed", "worker": "of the group", "newcomer": "comes later"}
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256")
GUESSERS: Final = 50
GUESSING_S: Final = 8.0
IMPATIENCE_S: Final = 0.05
LONGEST_HOLD_S: Final = Config().connection_failed_authentication_delay_max_ms / 1000
# All guessers before the first failure, then each once in the longest hold. Without a limit they make thousands.
MOST_CHECKED: Final = GUESSERS * (1 + GUESSING_S / LONGEST_HOLD_S)
MOST_LINES: Final = 12
ANSWER_S: Final = 20.0


class Guesses(Counter[str]):
    """Guesses at the password of alice, counted by how they ended."""

    async def make(self, port: int, number: int, until: float) -> None:
        mechanism = MECHANISMS[number // 2 % 2]
        patience_s = IMPATIENCE_S if number % 2 else ANSWER_S
        while (left_s := until - time.monotonic()) > 0:
            self["made"] += 1
            try:
                async with await Wire.connect(port, client_id=f"guesser-{number}") as wire:
                    await enter(wire, mechanism, "alice", f"guess {self['made']}", min(patience_s, left_s))
                self["let in"] += 1
            except LoginError:
                self["refused"] += 1
            except TimeoutError:
                self["given up"] += 1
            except (ConnectionEnded, OSError):
                self["closed"] += 1


async def enter(wire: Wire, mechanism: str, user: str, password: str, within_s: float = ANSWER_S) -> None:
    """Log in on a connection."""
    requests = log_in(mechanism, user, password, "nonce")
    answer: Any = None
    async with asyncio.timeout(within_s):
        with contextlib.suppress(StopIteration):
            while True:
                request = requests.send(answer)
                answer = await wire.send(request, 1 if isinstance(request, SaslHandshakeRequest) else 2)


async def newcomer(port: int, until: float) -> list[float]:
    """Log in again and again on new connections; return how many seconds each login took."""
    took_s: list[float] = []
    while (started := time.monotonic()) < until:
        async with await Wire.connect(port, client_id="newcomer") as wire:
            await enter(wire, MECHANISMS[len(took_s) % 2], "newcomer", USERS["newcomer"])
        took_s.append(time.monotonic() - started)
        await asyncio.sleep(0.1)
    return took_s


class Group:
    """Two members, and a producer whose records they read and commit."""

    def __init__(self, port: int) -> None:
        self.settings = {
            "bootstrap_servers": f"127.0.0.1:{port}",
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "SCRAM-SHA-256",
            "sasl_plain_username": "worker",
            "sasl_plain_password": USERS["worker"],
        }
        self.read = 0

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        async with AIOKafkaProducer(**self.settings) as producer, self.member() as one, self.member() as other:
            await eventually_async(lambda: len(one.assignment()) == len(other.assignment()) == 2, "the group is stable")
            tasks = [asyncio.create_task(work) for work in (self.produce(producer), self.work(one), self.work(other))]
            yield
            assert not [task for task in tasks if task.done()], tasks
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def member(self, group: str = GROUP, **others: str) -> AIOKafkaConsumer:
        return AIOKafkaConsumer(
            TOPIC,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=100,
            **{**self.settings, **others},
        )

    async def produce(self, producer: AIOKafkaProducer) -> None:
        for number in range(1_000_000):
            await producer.send_and_wait(TOPIC, b"value", partition=number % 4)
            await asyncio.sleep(0.05)

    async def work(self, member: AIOKafkaConsumer) -> None:
        while True:
            await member.getone()
            await member.commit()
            self.read += 1


@pytest.fixture
def daemon(tmp_path: Path) -> Secured:
    overrides = ("group.initial.rebalance.delay.ms=0", "loop.stall.warn.ms=20")
    secured = Secured(tmp_path, overrides=overrides, topics=(f"{TOPIC}:4",), http="127.0.0.1:0")
    rows = BY_NAME.values()
    users = {user: {row: credential_of(row, word, b"salt", 4096) for row in rows} for user, word in USERS.items()}
    (secured.data_dir / USERS_NAME).write_text(document_of(users))
    return secured


async def test_guessing_gets_nowhere_and_disturbs_no_client(daemon: Secured) -> None:
    with daemon:
        port = daemon.ports["SASL"]
        group, guesses = Group(port), Guesses()
        async with group.working():
            rebalances, lines, read_before = rebalances_of(daemon, GROUP), len(daemon.log_lines()), group.read
            began = time.monotonic()
            until = began + GUESSING_S
            guessing = asyncio.gather(*(guesses.make(port, number, until) for number in range(GUESSERS)))
            entering = asyncio.create_task(newcomer(port, until))
            names = {"sasl_plain_username": "newcomer", "sasl_plain_password": USERS["newcomer"]}
            async with group.member(LATE_GROUP, **names) as late:
                await late.getone()
                await late.commit()
                late_s = time.monotonic() - began
            await guessing
            entered_s = await entering
            read = group.read - read_before
            assert read, "the group has read nothing meanwhile"
            assert rebalances_of(daemon, GROUP) == rebalances
        new_lines = [line for line in daemon.log_lines()[lines:] if " INFO " not in line]
        found = re.search(r"http listen=127.0.0.1:(\d+)", daemon.log_text())
        assert found
        shown = scrape(int(found[1]))
        figures = dict(re.findall(r"^coordinator_(failed_auth\w+|event_loop_longest\w+) (\S+)$", shown, re.MULTILINE))
        async with await Wire.connect(port) as wire:
            await enter(wire, "PLAIN", "alice", USERS["alice"])  # her own login is held back, and then succeeds
    print(f"{dict(guesses)}; {len(entered_s)} logins of a newcomer, the slowest {max(entered_s):.3f} s; ", end="")
    print(f"its group reads after {late_s:.3f} s; {read} records read and committed; {figures}; {new_lines}")
    assert not guesses["let in"]
    assert guesses["made"] > GUESSERS
    assert float(figures["failed_authentication_total"]) <= MOST_CHECKED
    assert len(new_lines) <= MOST_LINES, new_lines


def rebalances_of(daemon: Secured, group: str) -> int:
    return sum(" rebalance " in line and group in line for line in daemon.log_lines())
