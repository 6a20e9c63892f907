"""Transactional producers of every language: `make clients-transactions` writes docs/clients-transactions.md.

A script, not a pytest test, as `matrix.py` is: it builds programs in four languages. Each client has a daemon of its
own, and goes through the scenarios one by one; transactions_programs.py describes its program. The judge reads the
topic as a reader of committed records does, and asks the daemon for committed offsets and for the transaction. The exit
code is 1 if a cell failed or a client could not run. With --kafka the clients run against a real Apache Kafka instead:
what fails there too is not ours.
"""

from __future__ import annotations

import argparse
import datetime
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TextIO

from protocol.messages.describe_transactions import DescribeTransactionsRequest
from tests.clients.matrix_programs import BrokenError, Missing
from tests.clients.transactions_programs import OFFSETS, PROGRAMS, RESTART, Program
from tests.conformance.kafka import Kafka
from tests.support.daemon import REPOSITORY, Daemon
from tests.support.eventually import eventually
from tests.support.questions import committed_offsets
from tests.support.transactional import read
from tests.support.wire import ConnectionEnded, call

PAGE: Final = REPOSITORY / "docs" / "clients-transactions.md"
FAILED: Final = "FAILED"
TIMEOUT_MS: Final = 60_000
SHORT_TIMEOUT_MS: Final = 1_500
PATIENCE_MS: Final = 30_000
LIMIT_S: Final = 60.0  # for one answer of a program
AT_ONCE: Final = 2
WENT_WRONG: Final = (AssertionError, OSError, ConnectionEnded, subprocess.SubprocessError)
Server = Daemon | Kafka


class Client:
    """A running program."""

    def __init__(self, program: Program, arguments: Sequence[str], log: TextIO) -> None:
        self._log = log
        self._process = subprocess.Popen(
            [*program.command, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            bufsize=1,
            cwd=REPOSITORY,
            env={**os.environ, **program.environment},
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put("error the program has ended")

    def tell(self, line: str) -> str:
        """Tell the program to act. Returns the message of the library's error; empty: there was none."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        while True:
            try:
                said = self._lines.get(timeout=LIMIT_S)
            except queue.Empty:
                raise AssertionError(f"{line!r} did not return within {LIMIT_S:g} s") from None
            self._log.write(f"{line} -> {said}\n")
            if said == "ok":
                return ""
            if said.startswith("error "):
                return said.removeprefix("error ")

    def does(self, *lines: str) -> None:
        """Tell the program to act, which must succeed."""
        for line in lines:
            error = self.tell(line)
            assert not error, f"{line}: {error}"

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


class Stage:
    """One scenario's topic, transactional id and programs."""

    def __init__(self, server: Server, program: Program, name: str, log: TextIO) -> None:
        self.server = server
        self.name = name
        self.group = f"{name}-group"
        self._program = program
        self._log = log
        self._clients: list[Client] = []
        server.create_topic(name, 2)

    def client(self, timeout_ms: int = TIMEOUT_MS) -> Client:
        arguments = [self.server.address, self.name, self.name, str(timeout_ms), str(PATIENCE_MS)]
        self._clients.append(Client(self._program, arguments, self._log))
        return self._clients[-1]

    def sees(self, *values: Sequence[str]) -> None:
        """Check what a reader of committed records sees in each partition."""
        seen = [read(self.server.address, self.name, partition) for partition in range(len(values))]
        assert seen == list(map(list, values)), f"readers of committed records see {seen}, not {values}"

    def has_committed(self, offset: int | None) -> None:
        wanted = {} if offset is None else {(self.name, 0): offset}
        found = committed_offsets(self.server.port, self.group)
        assert found == wanted, f"committed are {found}, not {wanted}"

    def is_in(self, state: str) -> bool:
        answer = call(self.server.port, DescribeTransactionsRequest([self.name]), 0)
        return bool(answer.transaction_states[0].transaction_state == state)

    def end(self) -> None:
        for client in self._clients:
            client.end()


def commit(stage: Stage) -> None:
    """A transaction over two partitions is seen when it is committed, and not before."""
    client = stage.client()
    client.does("init", "begin", "send 0 a", "send 1 b")
    stage.sees([], [])
    client.does("commit")
    stage.sees(["a"], ["b"])


def abort(stage: Stage) -> None:
    """Records of an aborted transaction are never seen, and the producer goes on with the next one."""
    client = stage.client()
    client.does("init", "begin", "send 0 a", "abort", "begin", "send 0 b", "commit")
    stage.sees(["b"])


def offsets(stage: Stage) -> None:
    """Offsets that are sent with a transaction are committed with it, and dropped with it."""
    client = stage.client()
    client.does("init", "begin", "send 0 a", f"offsets {stage.group} 5")
    stage.has_committed(None)
    client.does("commit")
    stage.has_committed(5)
    client.does("begin", "send 0 b", f"offsets {stage.group} 6", "abort")
    stage.has_committed(5)
    stage.sees(["a"])


def fenced(stage: Stage) -> None:
    """A second instance aborts the transaction of the first, which learns that when it commits."""
    first, second = stage.client(), stage.client()
    first.does("init", "begin", "send 0 a")
    second.does("init")
    error = first.tell("commit")
    assert error, "the commit of the first instance is not refused"
    second.does("begin", "send 0 b", "commit")
    stage.sees(["b"])


def timeout(stage: Stage) -> None:
    """The coordinator aborts a transaction that is open for too long, and the producer learns that."""
    client = stage.client(SHORT_TIMEOUT_MS)
    client.does("init", "begin", "send 0 a")
    eventually(lambda: stage.is_in("CompleteAbort"), "the transaction is aborted", within_s=LIMIT_S)
    assert client.tell("commit"), "the commit is not refused"
    stage.sees([])


def restart(stage: Stage) -> None:
    """The server is killed and started again in the middle of a transaction, which is committed."""
    client = stage.client()
    client.does("init", "begin", "send 0 a")
    stage.server.kill()
    stage.server.start()
    client.does("send 1 b", "commit")
    stage.sees(["a"], ["b"])


SCENARIOS: Final[Mapping[str, Callable[[Stage], None]]] = {
    "commit": commit,
    "abort": abort,
    OFFSETS: offsets,
    "fenced": fenced,
    "timeout": timeout,
    RESTART: restart,
}


@dataclass(slots=True)
class Results:
    """The word of each cell by row and scenario, and its note."""

    versions: dict[str, str] = field(default_factory=dict)
    words: dict[tuple[str, str], str] = field(default_factory=dict)
    notes: dict[tuple[str, str], str] = field(default_factory=dict)

    def put(self, row: str, scenario: str, word: str, note: str = "") -> None:
        self.words[row, scenario] = word
        self.notes[row, scenario] = " ".join(note.split())


def our_daemon(directory: Path) -> Server:
    return Daemon(directory, overrides=["group.initial.rebalance.delay.ms=0"])


def real_kafka(directory: Path) -> Server:
    return Kafka(directory, settings={})


def play_row(
    row: str,
    program: Program,
    scenarios: Sequence[str],
    directory: Path,
    server: Callable[[Path], Server],
    out: Results,
) -> None:
    """Play the scenarios of one client on a server of its own."""
    with server(directory / row) as running, (directory / f"{row}.log").open("w") as log:
        for scenario in scenarios:
            if scenario in program.without:
                out.put(row, scenario, "-", program.without[scenario])
                continue
            log.write(f"=== {scenario}\n")
            started = time.monotonic()
            stage = Stage(running, program, f"{row}-{scenario}".replace(".", "-"), log)
            try:
                SCENARIOS[scenario](stage)
                out.put(row, scenario, "ok")
            except WENT_WRONG as failure:
                out.put(row, scenario, FAILED, str(failure) or repr(failure))
            finally:
                stage.end()
            took = f"{time.monotonic() - started:5.1f} s"
            print(f"{row:16} {scenario:8} {took}  {out.words[row, scenario]} {out.notes[row, scenario]}", flush=True)


def table(results: Results) -> str:
    """Return the results as Markdown, with their notes."""
    lines = [f"| client | version | {' | '.join(SCENARIOS)} |", f"|{'---|' * (2 + len(SCENARIOS))}"]
    notes: list[str] = []
    for row, version in results.versions.items():
        line = [row, version]
        for scenario in SCENARIOS:
            word, note = results.words.get((row, scenario), "not run"), results.notes.get((row, scenario), "")
            if note and note not in notes:
                notes.append(note)
            line.append(f"{word} [{notes.index(note) + 1}]" if note else word)
        lines.append(f"| {' | '.join(line)} |")
    lines += ["", *(f"[{number}] {note}  " for number, note in enumerate(notes, 1))]
    return re.sub(r"[ \t]+\n", "\n", "\n".join(lines).rstrip() + "\n")


def page(results: Results) -> str:
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    texts = "\n".join(f"- **{name}**: {' '.join((act.__doc__ or '').split())}" for name, act in SCENARIOS.items())
    return f"""# Clients with transactions

Generated by `make clients-transactions` on {today}. Do not edit: run it again.

Each client is the real one, unmodified, with a small program around it (`tests/clients/`). Each scenario is judged by
what the library says, by what a reader of committed records sees, and by what the coordinator has committed. Loops that
consume, transform and produce while all is killed are run by `make exactly-once`
([exactly-once.md](exactly-once.md)).

{table(results)}
## The scenarios

{texts}
"""


def find_programs(names: Sequence[str], results: Results) -> dict[str, Program]:
    """Return the programs that can run here; for the others the results name the reason."""
    programs = {}
    for name in names:
        try:
            programs[name] = PROGRAMS[name]()
            results.versions[name] = programs[name].version
        except (Missing, BrokenError) as reason:
            results.versions[name] = "not run"
            for scenario in SCENARIOS:
                results.put(name, scenario, FAILED, f"not run: {reason}")
    return programs


def main() -> int:
    parser = argparse.ArgumentParser(prog="make clients-transactions", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PROGRAMS, help="these clients only; the page stays as it is")
    parser.add_argument("--scenario", nargs="+", choices=SCENARIOS, help="these scenarios only; likewise")
    parser.add_argument("--kafka", action="store_true", help="against a real Apache Kafka; likewise")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="keep the logs of clients and servers here")
    arguments = parser.parse_args()
    results = Results()
    server = real_kafka if arguments.kafka else our_daemon
    scenarios = arguments.scenario or list(SCENARIOS)
    with tempfile.TemporaryDirectory(prefix="clients-transactions-") as scratch:
        directory = Path(scratch)
        if arguments.keep:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            directory = Path(tempfile.mkdtemp(prefix="run-", dir=arguments.keep.resolve()))
        programs = find_programs(arguments.only or list(PROGRAMS), results)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            rows = [
                pool.submit(play_row, row, program, scenarios, directory, server, results)
                for row, program in programs.items()
            ]
            for each in rows:
                each.result()
    print(f"\n{table(results)}")
    if not (arguments.only or arguments.scenario or arguments.kafka):
        PAGE.write_text(page(results))
        print(f"written: {PAGE.relative_to(REPOSITORY)}")
    red = sum(word == FAILED for word in results.words.values())
    print(f"cells: {len(results.words) - red} not red, {red} red")
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main())
