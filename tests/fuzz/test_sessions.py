"""A short run of changed sessions against a real daemon; `make fuzz-sessions` runs longer ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from tests.clients.matrix_programs import PROGRAMS
from tests.fuzz import sessions
from tests.fuzz.recorded_session import RecordedSession
from tests.fuzz.recording import DIRECTORY, PARTITIONS, TOPIC, Frame, pack, recordings, unpack, without_repeats
from tests.support.daemon import Daemon

pytestmark = pytest.mark.integration

DEEP = ("JOIN_GROUP", "SYNC_GROUP", "HEARTBEAT", "OFFSET_COMMIT")
MOST_BYTES = 300_000


def test_changed_sessions_disturb_no_other_client_and_lose_no_commit(tmp_path: Path) -> None:
    judge = sessions.run(tmp_path, seed=1, sessions=30)
    assert judge.closed and judge.lines, "nothing was bad enough to be closed"
    for api in DEEP:
        assert judge.answers[api, int(ErrorCode.NONE)], f"no session got as far as {api}"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    topics = [f"{TOPIC}:{PARTITIONS}"]
    with Daemon(tmp_path_factory.mktemp("played"), overrides=sessions.OVERRIDES, topics=topics) as running:
        yield running


@pytest.mark.parametrize("name", ["aiokafka-resume", "confluent-kafka-resume", "franz-go-resume", "java-4.4-resume"])
def test_a_recording_that_is_not_changed_gets_through_its_group_with_the_ids_of_the_present(
    daemon: Daemon, name: str
) -> None:
    session = RecordedSession(daemon.port, Random(1), [recordings()[name]], group=name, is_changed=False)
    session.run(steps=100)
    for api in ("JOIN_GROUP", "SYNC_GROUP", "OFFSET_FETCH", "OFFSET_COMMIT"):
        assert session.answers[api, int(ErrorCode.NONE)], f"{api}: {session.answers}"
    assert not session.lines.closed


def test_recordings_are_small_and_each_client_has_some() -> None:
    sizes = {path.stem: path.stat().st_size for path in DIRECTORY.iterdir()}
    assert sum(sizes.values()) < MOST_BYTES
    assert {client for client in PROGRAMS if f"{client}-resume" in sizes} == set(PROGRAMS)


def test_a_packed_recording_is_unpacked_as_it_was() -> None:
    frames = recordings()["aiokafka-resume"]
    assert unpack(pack(frames)) == frames


def test_a_repeated_request_is_kept_twice_and_only_answers_that_tell_ids() -> None:
    heartbeat, join = (key.to_bytes(2, "big") for key in (ApiKey.HEARTBEAT, ApiKey.JOIN_GROUP))
    seen = [Frame(is_answer, 1, data) for is_answer, data in ((False, join + b"\0\0\0\0\0\1"), (True, b"\0\0\0\1ids"))]
    for number in range(2, 6):
        correlation = number.to_bytes(4, "big")
        seen += [Frame(False, 1, heartbeat + b"\0\0" + correlation + b"member"), Frame(True, 1, correlation + b"fine")]
    kept = without_repeats(seen)
    assert kept == [seen[0], seen[1], seen[2], seen[4]]
