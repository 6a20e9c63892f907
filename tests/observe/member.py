"""A consumer that is told what to do by lines on stdin: `python -m tests.observe.member SETTINGS`.

`stall S` lets it not poll for S seconds; `subscribe A,B` changes its topics; the end of stdin closes it.
"""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


class Member:
    """The parent's side of a consumer."""

    def __init__(self, topics: str, settings: dict[str, object]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.observe.member", topics, json.dumps(settings)],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=REPOSITORY,
        )

    def tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        if self._process.poll() is None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()


def main() -> None:
    from confluent_kafka import Consumer

    topics, settings = sys.argv[1:]
    consumer = Consumer(json.loads(settings))
    consumer.subscribe(topics.split(","))
    while True:
        consumer.poll(0.05)
        if not select.select([sys.stdin], [], [], 0)[0]:
            continue
        line = sys.stdin.readline()
        if not line:
            break
        word, _, rest = line.strip().partition(" ")
        if word == "stall":
            time.sleep(float(rest))
        elif word == "subscribe":
            consumer.subscribe(rest.split(","))
    consumer.close()


if __name__ == "__main__":
    main()
