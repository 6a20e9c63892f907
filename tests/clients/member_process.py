"""A client member in a process of its own, so that it can be killed: `python -m tests.clients.member_process`.

The child says on stdout, one JSON line each, what it is assigned after every change, and closes cleanly when its stdin
ends. `MemberProcess` is the parent's side.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

from tests.clients.members import LIBRARIES, MemberOptions, TopicPartition

REPOSITORY = Path(__file__).resolve().parents[2]


class MemberProcess:
    """A member that can die. It has the part of `ClientMember` that a test of crashes needs."""

    def __init__(self, library: str, options: MemberOptions) -> None:
        self.library = library
        self.options = options
        self.member_id = ""
        self._assignment: frozenset[TopicPartition] = frozenset()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.clients.member_process", library, json.dumps(dataclasses.asdict(options))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=REPOSITORY,
        )
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        return f"<process {self.library} {self.options.name} {sorted(self._assignment)}>"

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = json.loads(line)
            self.member_id = said["member_id"]
            self._assignment = frozenset((topic, partition) for topic, partition in said["assignment"])

    def assignment(self) -> frozenset[TopicPartition]:
        return self._assignment

    def kill(self) -> None:
        """SIGKILL: the coordinator learns of it by silence alone."""
        self._process.kill()
        self._end()

    def close(self) -> None:
        """Leave cleanly, if it still lives."""
        if self._process.poll() is None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            try:
                self._process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._end()

    def _end(self) -> None:
        self._process.wait()
        self._thread.join()
        self._assignment = frozenset()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()


def main() -> None:
    library, text = sys.argv[1:]
    given = json.loads(text)
    given["topics"] = tuple(given["topics"])
    given["assigned"] = tuple((topic, partition) for topic, partition in given["assigned"])
    member = LIBRARIES[library](MemberOptions(**given))
    ended = threading.Event()

    def wait_for_eof() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_eof, daemon=True).start()
    said: frozenset[TopicPartition] | None = None
    while not ended.is_set():
        assignment = member.assignment()
        if assignment != said:
            said = assignment
            member_id = member.ownerships[-1].member_id if member.ownerships else ""
            print(json.dumps({"member_id": member_id, "assignment": sorted(assignment)}), flush=True)
        time.sleep(0.02)
    member.close()


if __name__ == "__main__":
    main()
