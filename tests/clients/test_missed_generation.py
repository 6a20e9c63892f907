"""A member that misses a generation begins at what the other members have committed meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.clients.conftest import Crew
from tests.clients.members import ClientMember
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

SESSION_TIMEOUT_MS = 1500


@contextmanager
def not_polling(member: ClientMember) -> Iterator[None]:
    """Keep a member from polling."""
    began, ended = threading.Event(), threading.Event()

    def wait() -> None:
        began.set()
        ended.wait()

    waiting = threading.Thread(target=member.do, args=(wait,))
    waiting.start()
    assert began.wait(10)
    try:
        yield
    finally:
        ended.set()
        waiting.join()


@pytest.mark.parametrize("library", ["aiokafka", "kafka-python"])  # librdkafka polls in a thread of its own
def test_a_member_that_missed_a_generation_begins_at_the_committed_offsets(crew: Crew, library: str) -> None:
    topic = crew.topic(2)
    stays = crew.join(library, "stays", session_timeout_ms=SESSION_TIMEOUT_MS)
    misses = crew.join(library, "misses", session_timeout_ms=SESSION_TIMEOUT_MS)
    crew.settles(stays, misses)
    crew.produce(topic, {index: [b"1", b"2"] for index in range(2)})
    eventually(lambda: len(misses.received) == 2, "it reads its partition")
    misses.commit({(topic, misses.received[0].partition): 2})
    revoked = len(misses.revoked)
    with ExitStack() as until_the_others_have_committed:
        with not_polling(stays):
            third = crew.join(library, "third", session_timeout_ms=SESSION_TIMEOUT_MS)
            eventually(lambda: len(misses.revoked) > revoked, "it gives its partition up to join again")
            misses.do(lambda: None)  # its poll has ended, and its JoinGroup was sent
            until_the_others_have_committed.enter_context(not_polling(misses))
        crew.settles(stays, third)
        crew.leave(third)
        crew.settles(stays)
        crew.produce(topic, {index: [b"3", b"4"] for index in range(2)})
        eventually(lambda: sum(each.offset == 3 for each in stays.received) == 2, "it reads both partitions")
        stays.commit({(topic, index): 4 for index in range(2)})
    crew.settles(stays, misses)
    crew.produce(topic, {index: [b"5"] for index in range(2)})
    before = misses.ownerships[-1].received_before
    eventually(lambda: len(misses.received) > before, "it reads again")
    assert misses.received[before].offset == 4
