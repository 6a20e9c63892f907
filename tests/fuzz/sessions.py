"""Sessions of clients, made up and recorded in turn, changed by their grammar, against a real daemon.

After a session the daemon lives, answers a control group exactly, has kept its commits, has not grown, and has logged
at most one line for each connection.

    python -m tests.fuzz.sessions --seed 7 --sessions 500
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Final

from tests.fuzz.recorded_session import RecordedSession
from tests.fuzz.recording import PARTITIONS, recordings
from tests.fuzz.session import TOPIC, Session
from tests.fuzz.session_judge import CONTROL_TOPIC, Judge
from tests.support.daemon import Daemon

OVERRIDES: Final = (
    "group.initial.rebalance.delay.ms=0",
    "group.min.session.timeout.ms=10",
    "max.topics=60",
    "max.partitions=500",
    "fetch.max.wait.ms=50",
)
STEPS: Final = 15
RECORDED_STEPS: Final = 80  # most recordings join a group within the first thirty frames


def run(directory: Path, seed: int, sessions: int) -> Judge:
    """Run sessions from a seed against a daemon of their own. AssertionError names the session that broke a rule."""
    recorded = list(recordings().values())
    with Daemon(directory, overrides=OVERRIDES, topics=[f"{TOPIC}:{PARTITIONS}", f"{CONTROL_TOPIC}:2"]) as daemon:
        judge = Judge(daemon)
        for number in range(sessions):
            chance = Random(f"{seed}/{number}")
            session: Session | RecordedSession
            if number % 2:
                is_changed = number % 6 != 1
                session = RecordedSession(
                    daemon.port, chance, recorded, group=f"recorded-{number}", is_changed=is_changed
                )
                session.run(RECORDED_STEPS)
            else:
                session = Session(daemon.port, chance)
                session.run(STEPS)
            try:
                judge.after(session)
            except (AssertionError, OSError) as error:
                raise AssertionError(f"seed {seed} session {number}: {error}") from error
        judge.at_end()
    return judge


def main() -> int:
    parser = argparse.ArgumentParser(description="Changed sessions against a daemon.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sessions", type=int, default=300)
    given = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        judge = run(Path(directory), given.seed, given.sessions)
    print(
        f"{given.sessions} sessions in {time.monotonic() - begun:.1f} s: {judge.closed} connections closed, "
        f"{judge.lines} lines, the slowest check {judge.slowest_s:.3f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
