"""A consumer of a Python library, spoken to as matrix_members.py describes.

`python -m tests.clients.matrix_python_member LIBRARY name=value ...`

The libraries' own differences are hidden by `members.py`, which the pytest tests of these libraries use as well.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
from typing import Any

from tests.clients.members import LIBRARIES, MemberOptions


def say(**event: Any) -> None:
    print(json.dumps(event), flush=True)


def main() -> None:
    options = dict(each.split("=", 1) for each in sys.argv[2:])
    member = LIBRARIES[sys.argv[1]](
        MemberOptions(
            address=options["bootstrap"],
            group=options["group"],
            topics=(options["topic"],),
            assignor=options["assignor"],
            name=options["name"],
            instance_id=options.get("instance"),
            session_timeout_ms=int(options["session_ms"]),
            heartbeat_ms=int(options["heartbeat_ms"]),
            rebalance_timeout_ms=max(20_000, int(options["session_ms"])),  # librdkafka wants it no shorter
        )
    )
    commands: queue.Queue[str] = queue.Queue()

    def listen() -> None:
        for line in sys.stdin:
            commands.put(line.strip())
        commands.put("close")

    threading.Thread(target=listen, daemon=True).start()
    owned: frozenset[tuple[str, int]] = frozenset()
    given_up = told = errors = 0
    while True:
        # What was given up comes first: a partition may go and come back between two looks.
        for each in member.revoked[given_up:]:
            given_up += 1
            say(event="revoked", partitions=sorted(index for _, index in each))
            owned -= each
        now = member.assignment()
        if now - owned:
            say(event="assigned", partitions=sorted(index for _, index in now - owned))
        if owned - now:
            say(event="revoked", partitions=sorted(index for _, index in owned - now))
        owned = now
        for record in member.received[told:]:
            told += 1
            say(event="record", partition=record.partition, offset=record.offset)
        for error in member.errors[errors:]:
            errors += 1
            say(event="error", message=repr(error))
        try:
            command = commands.get(timeout=0.02)
        except queue.Empty:
            continue
        if command != "commit":
            break
        offsets = {(each.topic, each.partition): each.offset + 1 for each in member.received}
        try:
            member.commit({each: offset for each, offset in offsets.items() if each in owned})
            say(event="committed")
        except Exception as error:
            say(event="error", message=repr(error))
    member.close()
    say(event="closed")


if __name__ == "__main__":
    main()
