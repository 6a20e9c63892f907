"""A member of a group that consumes, commits several times a second, and sometimes kills itself in the middle.

`python -m tests.cluster.workload.member LIBRARY OPTIONS-AS-JSON DIARY CRASH_AFTER_S`. Noted are each assignment, where
it began to read in a partition after it, what it read, and every commit that was acknowledged. Errors are noted and
lived with, as applications do: the same consumer object goes on. It leaves cleanly on SIGTERM.

One client is mended here: aiokafka 0.14 overlooks the error of an OffsetFetch, and reads its partitions from the start
(docs/torture-clients.md). That would look like lost commits.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tests.clients.members import LIBRARIES, ClientMember, MemberOptions, TopicPartition
from tests.cluster.workload.diary import Diary

ROUND_S = 0.2  # between two commits


class WorkingMember:
    """One consumer at work. `work` is one round: note what changed, note what was read, commit it."""

    def __init__(self, member: ClientMember, diary: Diary) -> None:
        self._member = member
        self._diary = diary
        self._seen_ownerships = 0
        self._seen_received = 0
        self._seen_errors = 0
        self._positions: dict[TopicPartition, int] = {}
        self._committed: dict[TopicPartition, int] = {}

    def work(self) -> None:
        member = self._member
        received = len(member.received)  # read first: what was received until now belongs to the assignments read next
        for owned in member.ownerships[self._seen_ownerships :]:
            self._note_received(owned.received_before)
            self._seen_ownerships += 1
            self._positions, self._committed = {}, {}  # the next record of a partition says where it was taken up
            partitions = sorted(owned.partitions)
            self._diary.note(
                "assigned",
                given_at=round(owned.at_s, 3),
                generation=owned.generation,
                member=owned.member_id,
                partitions=partitions,
            )
        self._note_received(received)
        owned_now = member.assignment()
        offsets = {
            each: offset
            for each, offset in self._positions.items()
            if each in owned_now and self._committed.get(each) != offset
        }
        if offsets:
            try:
                member.commit(offsets, ownerships=self._seen_ownerships)
            except Exception as error:
                self._diary.note("not committed", why=repr(error)[:200])
            else:
                self._committed.update(offsets)
                self._diary.note("committed", offsets=[[*each, offset] for each, offset in offsets.items()])
        for failure in member.errors[self._seen_errors :]:
            self._seen_errors += 1
            self._diary.note("error", why=repr(failure)[:200])

    def _note_received(self, until: int) -> None:
        """Note the records up to that number as one line of runs of consecutive ones: [topic, partition, first, last].

        The polling thread may add records and assignments at any moment. A record is noted under the assignment under
        which it was received: a check takes the first one after an assignment for the place where the member began.
        """
        received = self._member.received[self._seen_received : until]
        runs: list[list[object]] = []
        for record in received:
            partition = (record.topic, record.partition)
            if self._positions.get(partition) == record.offset and runs and runs[-1][:2] == [*partition]:
                runs[-1][3] = record.offset
            else:
                runs.append([*partition, record.offset, record.offset])
            self._positions[partition] = record.offset + 1
        self._seen_received += len(received)
        if runs:
            self._diary.note("received", runs=runs)


def opened(library: str, options: MemberOptions, diary: Diary, stop: threading.Event) -> ClientMember:
    """Return a started consumer. aiokafka's consumer fails at once while no server listens, so this retries."""
    while True:
        client = LIBRARIES[library](options)
        while not stop.wait(ROUND_S):
            try:
                client.assignment()
            except AssertionError as failure:
                diary.note("error", why=repr(failure.__cause__)[:200])
                break
            if client.is_open:
                return client
        else:
            return client


def mend_aiokafka() -> None:
    """Have aiokafka raise the error of an OffsetFetch, and ask again."""
    from aiokafka.consumer.group_coordinator import GroupCoordinator
    from aiokafka.errors import NotCoordinatorForGroupError, for_code
    from aiokafka.protocol.commit import OffsetFetchRequest

    send = GroupCoordinator._send_req

    async def checked(coordinator: Any, request: Any) -> Any:
        answer = await send(coordinator, request)
        if isinstance(request, OffsetFetchRequest) and answer.error_code:
            error = for_code(answer.error_code)
            if error is NotCoordinatorForGroupError:
                coordinator.coordinator_dead()
            raise error
        return answer

    GroupCoordinator._send_req = checked


def main() -> None:
    library, options_text, diary_path, crash_after_s = sys.argv[1:]
    options = json.loads(options_text)
    options["topics"] = tuple(options["topics"])
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    diary = Diary(Path(diary_path))
    diary.note("start", pid=os.getpid())
    crash_at = time.monotonic() + float(crash_after_s) if float(crash_after_s) > 0 else float("inf")
    if library == "aiokafka":
        mend_aiokafka()
    client = opened(library, MemberOptions(**options), diary, stop)
    member = WorkingMember(client, diary)
    while not stop.wait(ROUND_S):
        member.work()
        if time.monotonic() > crash_at:
            diary.note("crash")
            os.kill(os.getpid(), signal.SIGKILL)
    member.work()
    with contextlib.suppress(Exception):
        client.close()
    diary.note("stop")


if __name__ == "__main__":
    main()
