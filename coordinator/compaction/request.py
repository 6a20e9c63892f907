"""Communication between `coordinator compact` and a running daemon: three small files in DATA_DIR/compaction.

`daemon.json`          the daemon's epoch, and the settings that a job must agree with. The daemon writes it.
`request.json`         one request for a plan. The command writes it; a second command is told to wait.
`answer-<nonce>.json`  the ids of the plans made for it, or why there is none. The daemon writes it.

Files are used instead of a socket, so that it works between containers that share only the volume, without port or
password. A thread of the daemon looks about once a second. The job's directory tells the outcome of a plan: DONE or
REFUSED, each with a sentence in it. A request is valid for a minute after its command last touched it, so that a
command that has ended does not open a plan without a job.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Self, TypeVar

import msgspec
from msgspec import Meta, Struct

from coordinator.compaction.plan import JobDir
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.processes.wall_clock import wall_ms
from coordinator.storage.file_names import COMPACTION_DIR, DAEMON_NAME, REQUEST_NAME
from coordinator.storage.log.fs import RealFileSystem, write_atomically

ANSWER_NAME: Final = "answer-{}.json"
ANSWER_NAMES: Final = re.compile(r"answer-[0-9a-f]{16}\.json(\.tmp)?")
REQUEST_LIFE_MS: Final = 60_000
MAX_FILE_BYTES: Final = 1 << 20  # of each of the three
MAX_SENTENCE: Final = 4000  # characters of what DONE and REFUSED say
POLL_S: Final = 0.2
TOUCH_S: Final = 5.0

Nonce = Annotated[str, Meta(pattern=r"\A[0-9a-f]{16}\Z")]  # it becomes part of a file name
T = TypeVar("T")


class RequestError(Exception):
    """One sentence that says what to do."""


class Request(Struct, frozen=True, forbid_unknown_fields=True):
    """Ask for a plan."""

    nonce: Nonce  # names the answer
    created_ms: int  # since the epoch
    roll: bool = False  # close the active segments first: a small log has no closed ones
    min_cleanable_ratio: Annotated[float, Meta(ge=0, le=1)] | None = None  # instead of log.cleaner.min.cleanable.ratio
    partitions: tuple[Annotated[int, Meta(ge=0)], ...] | None = None  # None: all
    topic: str = OFFSETS_TOPIC

    @classmethod
    def new(
        cls,
        *,
        roll: bool = False,
        min_cleanable_ratio: float | None = None,
        partitions: tuple[int, ...] | None = None,
        topic: str = OFFSETS_TOPIC,
    ) -> Self:
        """Make a request now, with a random nonce."""
        return cls(secrets.token_hex(8), wall_ms(), roll, min_cleanable_ratio, partitions, topic)

    def is_stale(self, touched_ms: int, now_ms: int) -> bool:
        """Return whether the asking command has ended. The clock may have been set forward or back."""
        return abs(now_ms - max(self.created_ms, touched_ms)) > REQUEST_LIFE_MS


class Answer(Struct, frozen=True, forbid_unknown_fields=True):
    """The daemon's answer to a request."""

    nonce: str
    plan_ids: tuple[str, ...]  # plans that wait for a job: made for this request, or open already
    reason: str  # a sentence: what was planned, why nothing was, or what is being done about it
    is_final: bool = True  # False: the daemon works on it, and says so now and then
    written_ms: int = 0  # since the epoch


class DaemonFacts(Struct, frozen=True, forbid_unknown_fields=True):
    """Facts about the daemon that serves a directory, for commands."""

    epoch: str  # of its run; plans carry it
    started_ms: int
    history_enable: bool
    history_dir: str  # empty: `history` in the data directory, wherever that is mounted
    plan_expiration_ms: int
    min_cleanable_ratio: float  # when compaction is due; of `log.cleaner.`, as the next two
    min_compaction_lag_ms: int
    max_compaction_lag_ms: int
    history_retention_ms: int = -1


_UNREADABLE: Final[dict[type, str]] = {
    Request: "holds no request ({}); remove it",
    Answer: "holds no answer ({}); use the version of the daemon",
    DaemonFacts: "does not describe a daemon ({}); use the version of the daemon, or restart it",
}


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """The outcome of a plan."""

    is_done: bool
    sentence: str


def compaction_dir(data_dir: Path) -> Path:
    """Return the directory of the files."""
    return data_dir / COMPACTION_DIR


def daemon_facts(data_dir: Path) -> DaemonFacts | None:
    """Return the facts of the last daemon of this directory; None if there was none.

    The lock in the data directory tells whether it still runs.
    """
    return read_json(compaction_dir(data_dir) / DAEMON_NAME, DaemonFacts)


def ask(data_dir: Path, request: Request) -> None:
    """Write a request. RequestError if another one waits, or the directory cannot be written."""
    directory = compaction_dir(data_dir)
    path = directory / REQUEST_NAME
    draft = directory / f"{REQUEST_NAME}.{request.nonce}"
    try:
        directory.mkdir(exist_ok=True)
        draft.write_bytes(encode(request))
        try:
            _put(draft, path)
        finally:
            draft.unlink(missing_ok=True)
    except FileExistsError:
        raise RequestError(
            f"another compaction has just been asked for ({path}); wait a moment, or remove the file if none is running"
        ) from None
    except OSError as error:
        raise RequestError(
            f"the daemon cannot be asked for a plan: {path} cannot be written ({error.strerror or error}); run this as"
            " the user who owns the data directory"
        ) from None


def _put(draft: Path, path: Path) -> None:
    """Give the complete file its real name, only if that name is free. A link does both in one step."""
    try:
        os.link(draft, path)
    except FileExistsError:
        waiting = read_request(path.parent.parent)
        if waiting is not None and not waiting.is_stale(touched_ms(path.parent.parent), wall_ms()):
            raise
        path.unlink(missing_ok=True)  # its command has ended, and no daemon has removed it
        os.link(draft, path)


def withdraw(data_dir: Path, request: Request) -> None:
    """Remove a request that is not waited for any more, and its answer."""
    directory = compaction_dir(data_dir)
    with contextlib.suppress(OSError, RequestError):
        waiting = read_request(data_dir)
        if waiting is not None and waiting.nonce == request.nonce:
            (directory / REQUEST_NAME).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        (directory / ANSWER_NAME.format(request.nonce)).unlink(missing_ok=True)


def wait_for_answer(
    data_dir: Path,
    request: Request,
    *,
    timeout_s: float = 55.0,
    sleep: Callable[[float], None] = time.sleep,
    on_news: Callable[[str], None] = lambda reason: None,
) -> Answer:
    """Ask, and return the answer. RequestError if none comes in time, or another request waits already.

    `timeout_s` is how long the daemon may be silent. While it plans a large log it writes preliminary answers, which
    are passed to `on_news`.
    """
    ask(data_dir, request)
    path = compaction_dir(data_dir) / ANSWER_NAME.format(request.nonce)
    deadline = time.monotonic() + timeout_s
    touch_at = time.monotonic() + TOUCH_S
    heard: Answer | None = None
    try:
        while time.monotonic() < deadline:
            if time.monotonic() > touch_at:
                touch_at = time.monotonic() + TOUCH_S
                with contextlib.suppress(OSError):
                    os.utime(compaction_dir(data_dir) / REQUEST_NAME)
            found = read_json(path, Answer)
            if found is not None:
                if found.is_final:
                    return found
                if found != heard:
                    heard, deadline = found, time.monotonic() + timeout_s
                    on_news(found.reason)
            sleep(POLL_S)
    finally:
        withdraw(data_dir, request)
    raise RequestError(
        f"the daemon that holds {data_dir} did not answer in {timeout_s:.0f} s; look into its log, and whether it is a"
        " version that knows compaction"
    )


def outcome_of(job: JobDir) -> PlanOutcome | None:
    """Return the outcome of a plan; None while it is open."""
    for path, is_done in ((job.done, True), (job.refused, False)):
        with contextlib.suppress(FileNotFoundError):
            return PlanOutcome(is_done, path.read_text(encoding="utf-8", errors="replace")[:MAX_SENTENCE].strip())
    return None


# The daemon's side.


def read_request(data_dir: Path) -> Request | None:
    """Return the waiting request, if any. RequestError if the file is no request."""
    return read_json(compaction_dir(data_dir) / REQUEST_NAME, Request)


def touched_ms(data_dir: Path) -> int:
    """Return when the command last touched its request, in ms since the epoch; 0 if there is none."""
    try:
        return (compaction_dir(data_dir) / REQUEST_NAME).stat().st_mtime_ns // 1_000_000
    except OSError:
        return 0


def answer(data_dir: Path, reply: Answer) -> None:
    """Write an answer; if it is final, remove the request unless it is another one. OSError: it cannot be written."""
    directory = compaction_dir(data_dir)
    write_atomically(RealFileSystem(), directory / ANSWER_NAME.format(reply.nonce), encode(reply))
    if not reply.is_final:
        return
    with contextlib.suppress(RequestError):
        waiting = read_request(data_dir)
        if waiting is not None and waiting.nonce == reply.nonce:
            (directory / REQUEST_NAME).unlink(missing_ok=True)


def announce(data_dir: Path, facts: DaemonFacts) -> None:
    """Write the facts of this daemon. OSError: they cannot be written."""
    directory = compaction_dir(data_dir)
    directory.mkdir(exist_ok=True)
    write_atomically(RealFileSystem(), directory / DAEMON_NAME, encode(facts))


def sweep(data_dir: Path, now_ms: int) -> None:
    """Remove answers that were not fetched, and drafts of requests."""
    directory = compaction_dir(data_dir)
    for path in directory.iterdir():
        if ANSWER_NAMES.fullmatch(path.name) or path.name.startswith(f"{REQUEST_NAME}."):
            with contextlib.suppress(OSError):
                if abs(now_ms - path.stat().st_mtime * 1000) > 2 * REQUEST_LIFE_MS:
                    path.unlink()


def encode(value: Request | Answer | DaemonFacts) -> bytes:
    """Return the file's bytes."""
    return (json.dumps(msgspec.to_builtins(value), indent=1) + "\n").encode()


def read_json(path: Path, kind: type[T]) -> T | None:
    """Read one of the three files; None if it does not exist. RequestError if it holds something else."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RequestError(f"{path} cannot be read ({error.strerror or error}); mend its permissions") from None
    if len(data) > MAX_FILE_BYTES:
        raise RequestError(f"{path} is larger than {MAX_FILE_BYTES} bytes; remove it")
    try:
        return msgspec.json.decode(data, type=kind)
    except (ValueError, RecursionError) as error:  # msgspec's errors and UnicodeDecodeError are ValueErrors
        raise RequestError(f"{path} {_UNREADABLE[kind].format(error)}") from None
