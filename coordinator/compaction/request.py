"""How `coordinator compact` and a running daemon talk: three small files in DATA_DIR/compaction.

`daemon.json`          who serves this directory, and with which settings a job must agree. The daemon writes it.
`request.json`         one request for a plan. The command writes it; whoever comes second is told to wait.
`answer-<nonce>.json`  the ids of the plans made for it, or why there is none. The daemon writes it.

Files and no socket, on purpose: it works between containers that share nothing but the volume, and needs no port, no
password and no protocol. The daemon looks about once a second, from a thread of its own. What becomes of a plan is
said by the job's directory itself: DONE or REFUSED, each with a sentence in it.

A request is only good for a minute after its asker last touched it: one whose asker has died must not open a plan that
nobody works on. Stdlib only.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, Self

from coordinator.compaction.plan import JobDir
from coordinator.storage.file_names import COMPACTION_DIR, DAEMON_NAME, REQUEST_NAME
from coordinator.storage.log.fs import RealFileSystem, write_atomically

ANSWER_NAME: Final = "answer-{}.json"
ANSWER_NAMES: Final = re.compile(r"answer-[0-9a-f]{16}\.json(\.tmp)?")
REQUEST_LIFE_MS: Final = 60_000
MAX_FILE_BYTES: Final = 1 << 20  # of each of the three
MAX_SENTENCE: Final = 4000  # characters of what DONE and REFUSED say
POLL_S: Final = 0.2
TOUCH_S: Final = 5.0

_NONCE: Final = re.compile(r"[0-9a-f]{16}")


class RequestError(Exception):
    """One sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class Request:
    """Ask for a plan."""

    nonce: str  # names the answer
    created_ms: int  # since the epoch
    roll: bool = False  # close the active segments first: a small log has no closed ones
    min_cleanable_ratio: float | None = None  # instead of log.cleaner.min.cleanable.ratio
    partitions: tuple[int, ...] | None = None  # of the offsets log; None: all

    @classmethod
    def new(
        cls, *, roll: bool = False, min_cleanable_ratio: float | None = None, partitions: tuple[int, ...] | None = None
    ) -> Self:
        """A request made now, with a name of its own."""
        return cls(secrets.token_hex(8), _now_ms(), roll, min_cleanable_ratio, partitions)

    @classmethod
    def from_json(cls, value: object) -> Self:
        """RequestError if `value` is no request."""
        facts = _facts(value, "a request", {"nonce", "created_ms", "roll", "min_cleanable_ratio", "partitions"})
        nonce, ratio, partitions = facts["nonce"], facts["min_cleanable_ratio"], facts["partitions"]
        _demand(isinstance(nonce, str) and _NONCE.fullmatch(nonce), "a request needs a nonce of 16 hexadecimal digits")
        _demand(_is_int(facts["created_ms"]), "a request needs the time it was made at")
        _demand(isinstance(facts["roll"], bool), "roll is true or false")
        _demand(
            ratio is None or (isinstance(ratio, int | float) and 0 <= ratio <= 1),
            "the ratio in a request is a number from 0 to 1",
        )
        _demand(
            partitions is None
            or (isinstance(partitions, list) and all(_is_int(one) and one >= 0 for one in partitions)),
            "the partitions in a request are a list of numbers",
        )
        return cls(
            nonce,
            facts["created_ms"],
            facts["roll"],
            None if ratio is None else float(ratio),
            None if partitions is None else tuple(partitions),
        )

    def is_stale(self, touched_ms: int, now_ms: int) -> bool:
        """Whether nobody waits for the answer any more. A clock that stands elsewhere counts in both directions."""
        return abs(now_ms - max(self.created_ms, touched_ms)) > REQUEST_LIFE_MS


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request was answered with."""

    nonce: str
    plan_ids: tuple[str, ...]  # plans that wait for a job: made for this request, or open already
    reason: str  # a sentence: what was planned, why nothing was, or what is being done about it
    is_final: bool = True  # False: the daemon works on it, and says so now and then
    written_ms: int = 0  # since the epoch

    @classmethod
    def from_json(cls, value: object) -> Self:
        """RequestError if `value` is no answer."""
        facts = _facts(value, "an answer", {"nonce", "plan_ids", "reason", "is_final", "written_ms"})
        plan_ids = facts["plan_ids"]
        _demand(isinstance(facts["nonce"], str) and isinstance(facts["reason"], str), "an answer has texts")
        _demand(
            isinstance(plan_ids, list) and all(isinstance(one, str) for one in plan_ids), "an answer names plans by id"
        )
        _demand(isinstance(facts["is_final"], bool) and _is_int(facts["written_ms"]), "an answer is final or not")
        return cls(facts["nonce"], tuple(plan_ids), facts["reason"], facts["is_final"], facts["written_ms"])


@dataclass(frozen=True, slots=True)
class DaemonFacts:
    """What a command must know of the daemon that serves a directory."""

    epoch: str  # of its run; plans carry it
    started_ms: int
    history_enable: bool
    history_dir: str  # empty: `history` in the data directory, wherever that is mounted
    plan_expiration_ms: int
    min_cleanable_ratio: float  # when cleaning is due; of `log.cleaner.`, as the next two
    min_compaction_lag_ms: int
    max_compaction_lag_ms: int

    @classmethod
    def from_json(cls, value: object) -> Self:
        """RequestError if `value` is not what a daemon writes."""
        facts = _facts(value, "a daemon's account of itself", {field.name for field in fields(cls)})
        numbers = ("started_ms", "plan_expiration_ms", "min_compaction_lag_ms", "max_compaction_lag_ms")
        _demand(
            isinstance(facts["epoch"], str)
            and isinstance(facts["history_dir"], str)
            and isinstance(facts["history_enable"], bool)
            and isinstance(facts["min_cleanable_ratio"], int | float)
            and all(_is_int(facts[name]) for name in numbers),
            "a daemon's account of itself has a field of the wrong type",
        )
        return cls(**facts)


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """What became of a plan."""

    is_done: bool
    sentence: str


def compaction_dir(data_dir: Path) -> Path:
    """Where all of this lies."""
    return data_dir / COMPACTION_DIR


def daemon_facts(data_dir: Path) -> DaemonFacts | None:
    """What the daemon last said of itself; None if there never was one that knows compaction.

    Says nothing about whether it still runs: the lock in the data directory does.
    """
    value = read_json(compaction_dir(data_dir) / DAEMON_NAME)
    return None if value is None else DaemonFacts.from_json(value)


def ask(data_dir: Path, request: Request) -> None:
    """Put a request down. RequestError if another one waits, or the directory cannot be written."""
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
            f"another compaction has just been asked for ({path}); wait a moment, or remove the file if nobody runs one"
        ) from None
    except OSError as error:
        raise RequestError(
            f"the daemon cannot be asked for a plan: {path} cannot be written ({error.strerror or error}); run this as"
            " the user who owns the data directory"
        ) from None


def _put(draft: Path, path: Path) -> None:
    """Under its real name only as a whole, and only if that name is free. A link is both in one step."""
    try:
        os.link(draft, path)
    except FileExistsError:
        waiting = read_request(path.parent.parent)
        if waiting is not None and not waiting.is_stale(touched_ms(path.parent.parent), _now_ms()):
            raise
        path.unlink(missing_ok=True)  # its asker has died, and no daemon has come by to say so
        os.link(draft, path)


def withdraw(data_dir: Path, request: Request) -> None:
    """Nobody waits any more: take the request back if it is still there, and its answer if it came."""
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
    """Ask, and return the answer. RequestError if none comes in time, or something else is asked for already.

    `timeout_s` is how long the daemon may be silent: planning a big log takes long, and meanwhile it says so, which is
    handed to `on_news`.
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
            value = read_json(path)
            if value is not None:
                found = Answer.from_json(value)
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
    """What became of a plan; None while it is open."""
    for path, is_done in ((job.done, True), (job.refused, False)):
        with contextlib.suppress(FileNotFoundError):
            return PlanOutcome(is_done, path.read_text(encoding="utf-8", errors="replace")[:MAX_SENTENCE].strip())
    return None


# The daemon's side.


def read_request(data_dir: Path) -> Request | None:
    """The request that waits, if any. RequestError if the file is no request."""
    value = read_json(compaction_dir(data_dir) / REQUEST_NAME)
    return None if value is None else Request.from_json(value)


def touched_ms(data_dir: Path) -> int:
    """When somebody last showed that he waits for the answer to the request; 0 if there is none."""
    try:
        return (compaction_dir(data_dir) / REQUEST_NAME).stat().st_mtime_ns // 1_000_000
    except OSError:
        return 0


def answer(data_dir: Path, reply: Answer) -> None:
    """Answer, and if that is final, take the request away if it is still the one. OSError: it cannot be said."""
    directory = compaction_dir(data_dir)
    write_atomically(RealFileSystem(), directory / ANSWER_NAME.format(reply.nonce), encode(reply))
    if not reply.is_final:
        return
    with contextlib.suppress(RequestError):
        waiting = read_request(data_dir)
        if waiting is not None and waiting.nonce == reply.nonce:
            (directory / REQUEST_NAME).unlink(missing_ok=True)


def announce(data_dir: Path, facts: DaemonFacts) -> None:
    """Say who serves this directory. OSError: it cannot be said."""
    directory = compaction_dir(data_dir)
    directory.mkdir(exist_ok=True)
    write_atomically(RealFileSystem(), directory / DAEMON_NAME, encode(facts))


def sweep(data_dir: Path, now_ms: int) -> None:
    """Remove answers that nobody came for, and drafts of requests that never were made."""
    directory = compaction_dir(data_dir)
    for path in directory.iterdir():
        if ANSWER_NAMES.fullmatch(path.name) or path.name.startswith(f"{REQUEST_NAME}."):
            with contextlib.suppress(OSError):
                if abs(now_ms - path.stat().st_mtime * 1000) > 2 * REQUEST_LIFE_MS:
                    path.unlink()


def encode(value: Request | Answer | DaemonFacts) -> bytes:
    """The file's bytes."""
    return (json.dumps(asdict(value), indent=1) + "\n").encode()


def read_json(path: Path) -> object | None:
    """What a small file holds; None if it is not there. RequestError if it is not JSON."""
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
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        raise RequestError(f"{path} is not JSON; remove it") from None
    return value if value is not None else {}


def _now_ms() -> int:
    return int(time.time() * 1000)


def _facts(value: object, what: str, names: set[str]) -> dict[str, Any]:
    if not isinstance(value, dict) or set(value) != names:
        raise RequestError(f"{what} has the fields {', '.join(sorted(names))} and no others")
    return value


def _is_int(value: object) -> bool:
    return type(value) is int


def _demand(condition: object, sentence: str) -> None:
    if not condition:
        raise RequestError(sentence)
