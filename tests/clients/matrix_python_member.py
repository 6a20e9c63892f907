"""A consumer of a Python library, spoken to as matrix_members.py describes.

`python -m tests.clients.matrix_python_member LIBRARY name=value ...`

The libraries' own differences are hidden by `members.py`, which the pytest tests of these libraries use as well.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from typing import Any

from tests.clients.members import LIBRARIES, ClientMember, MemberOptions


def say(at_ns: int | None = None, **event: Any) -> None:
    print(json.dumps({"at": at_ns or time.monotonic_ns(), **event}), flush=True)


def commit(member: ClientMember, owned: frozenset[tuple[str, int]]) -> None:
    """Commit what was read of the partitions it owns; the time that the library takes is told."""
    offsets = {(each.topic, each.partition): each.offset + 1 for each in member.received}
    wanted = {each: offset for each, offset in offsets.items() if each in owned}

    def timed() -> int:
        begun_ns = time.monotonic_ns()
        member._commit(wanted)
        return time.monotonic_ns() - begun_ns

    try:
        say(event="committed", took_ns=member.do(timed))
    except Exception as error:
        say(event="error", message=repr(error))


def say_records(member: ClientMember, told: int) -> int:
    """Say which records were read since that many were; returns how many were read by now."""
    for record in member.received[told:]:
        told += 1
        say(record.at_ns, event="record", partition=record.partition, offset=record.offset)
    return told


def live(member: ClientMember, commands: queue.Queue[str]) -> str:
    """Say all that happens to the member until a command ends it; returns that command."""
    owned: frozenset[tuple[str, int]] = frozenset()
    steps = told = errors = 0
    while True:
        for step in member.told[steps:]:
            steps += 1
            if step.event in ("joining", "leaving"):
                say(step.at_ns, event=step.event)
                continue
            say(step.at_ns, event=step.event, partitions=sorted(index for _, index in step.partitions))
            owned = owned | step.partitions if step.event == "assigned" else owned - step.partitions
        told = say_records(member, told)
        for error in member.errors[errors:]:
            errors += 1
            say(event="error", message=repr(error))
        try:
            command = commands.get(timeout=0.02)
        except queue.Empty:
            continue
        if command != "commit":
            break
        commit(member, owned)
    member.close()
    say_records(member, told)  # it may have committed them
    for step in member.told[steps:]:
        if step.event == "leaving":
            say(step.at_ns, event=step.event)
    return command


def main() -> None:
    options = dict(each.split("=", 1) for each in sys.argv[2:])
    wanted = MemberOptions(
        address=options["bootstrap"],
        group=options["group"],
        topics=(options["topic"],),
        assignor=options["assignor"],
        name=options["name"],
        instance_id=options.get("instance"),
        session_timeout_ms=int(options["session_ms"]),
        heartbeat_ms=int(options["heartbeat_ms"]),
        rebalance_timeout_ms=max(20_000, int(options["session_ms"])),  # librdkafka wants it no shorter
        fetch_wait_ms=int(options["fetch_ms"]),
        metadata_ms=int(options["metadata_ms"]),
        auto_commit=options["auto_commit"] == "true",
        protocol=options["protocol"],
    )
    commands: queue.Queue[str] = queue.Queue()

    def listen() -> None:
        for line in sys.stdin:
            commands.put(line.strip())
        commands.put("close")

    threading.Thread(target=listen, daemon=True).start()
    while live(LIBRARIES[sys.argv[1]](wanted), commands) == "leave":
        say(event="left")
        if commands.get() != "join":
            break
    say(event="closed")


if __name__ == "__main__":
    main()
