"""The history of a run: operations of clients, as JSON lines that several processes append to one file or to many.

An operation has two lines, one before the client calls and one after. All times are of the machine's monotonic clock,
which its processes share. A process of a history does one thing at a time; a thread of a client is one. An operation
ends `ok`, `fail` (it certainly had no effect) or `info` (it had an effect or not). One without a second line is `info`:
its client was killed.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple

COMMIT: Final = "commit"
FETCH: Final = "fetch"
JOIN: Final = "join"  # JoinGroup and SyncGroup, both answered
OK: Final = "ok"
FAIL: Final = "fail"
INFO: Final = "info"
EVER: Final = float("inf")


class Key(NamedTuple):
    """A committed offset is one register."""

    group: str
    partition: int


class Generation(NamedTuple):
    """A generation of a group as one member saw it. A client that is not told something says None."""

    number: int
    leader: str | None = None
    members: tuple[str, ...] | None = None  # sorted; told to the leader alone
    mark: str | None = None  # what the leader put beside all assignments, unique for each of its SyncGroups


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. Times are in ns."""

    process: str
    kind: str
    key: Key  # the partition of a join is -1
    value: int | Generation | None  # committed or found (None: no offset is committed)
    start: float
    end: float  # when the client knew, or gave up; EVER if it was killed
    outcome: str
    may_repeat: bool = False  # the library may have sent it more than once
    is_final: bool = False  # a fetch when all faults were over and all other clients had ended
    error: str = ""


class HistoryError(Exception):
    """The files are not a history. The message names the line."""


class History:
    """The writing end. Its lines may stand in one file with those of other processes: each is one `write`."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def __enter__(self) -> History:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        os.close(self._file)

    def process(self, name: str) -> Process:
        """Return a process of this history. Its name must be unique in the run, also if a client starts again."""
        return Process(self, f"{name}/{os.getpid()}")

    def write(self, line: dict[str, Any]) -> None:
        os.write(self._file, json.dumps(line, separators=(",", ":")).encode() + b"\n")


class Process:
    """One sequential process: `invoke`, then one of `ok`, `fail` and `info`."""

    def __init__(self, history: History, name: str) -> None:
        self._history = history
        self._name = name
        self._number = 0

    def invoke(
        self,
        kind: str,
        key: Key,
        value: int | None = None,
        *,
        may_repeat: bool = False,
        is_final: bool = False,
        at_ns: int | None = None,
    ) -> None:
        """Note that an operation begins now, or began at a moment of the monotonic clock."""
        self._number += 1
        asked = {"kind": kind, "group": key.group, "partition": key.partition, "value": value}
        flags = {name: True for name, is_set in (("may_repeat", may_repeat), ("is_final", is_final)) if is_set}
        self._write("invoke", at_ns, **asked, **flags)

    def ok(self, value: int | Generation | None = None, *, at_ns: int | None = None) -> None:
        self._write(OK, at_ns, value=value._asdict() if isinstance(value, Generation) else value)

    def fail(self, error: object) -> None:
        self._write(FAIL, None, error=_short(error))

    def info(self, error: object) -> None:
        self._write(INFO, None, error=_short(error))

    def _write(self, event: str, at_ns: int | None, **facts: Any) -> None:
        at = time.monotonic_ns() if at_ns is None else at_ns
        self._history.write({"process": self._name, "number": self._number, "event": event, "at": at, **facts})


def _short(error: object) -> str:
    return repr(error)[:300] if isinstance(error, BaseException) else str(error)[:300]


def read_history(paths: Iterable[Path]) -> list[Operation]:
    """Merge files into one list of operations, in the order of their starts.

    A last line that has no end, because its process was killed, does not count. Raises HistoryError.
    """
    events: dict[tuple[str, int], dict[str, dict[str, Any]]] = defaultdict(dict)
    for path in paths:
        for place, line in _lines(path):
            name = "invoke" if line["event"] == "invoke" else "end"
            if events[line["process"], line["number"]].setdefault(name, line) is not line:
                raise HistoryError(f"{place}: operation {line['number']} of {line['process']} has a second {name}")
    for process, number in events:
        if "invoke" not in events[process, number]:
            raise HistoryError(f"operation {number} of {process} has an end and no beginning")
    operations = [_operation(each["invoke"], each.get("end")) for each in events.values()]
    return sorted(operations, key=lambda each: each.start)


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            if not raw.endswith(b"\n"):
                return
            try:
                yield f"{path}:{number}", json.loads(raw)
            except ValueError as error:
                raise HistoryError(f"{path}:{number} is no line of a history: {raw[:100]!r}") from error


def _operation(begun: dict[str, Any], ended: dict[str, Any] | None) -> Operation:
    outcome = ended["event"] if ended is not None else INFO
    value: int | Generation | None = begun["value"]
    if ended is not None and outcome == OK and begun["kind"] != COMMIT:
        found = ended["value"]
        value = _generation(found) if isinstance(found, dict) else found
    return Operation(
        process=begun["process"],
        kind=begun["kind"],
        key=Key(begun["group"], begun["partition"]),
        value=value,
        start=begun["at"],
        end=ended["at"] if ended is not None else EVER,
        outcome=outcome,
        may_repeat=begun.get("may_repeat", False),
        is_final=begun.get("is_final", False),
        error=ended.get("error", "") if ended is not None else "its client was killed",
    )


def _generation(found: dict[str, Any]) -> Generation:
    members = found["members"]
    return Generation(found["number"], found["leader"], tuple(members) if members is not None else None, found["mark"])
