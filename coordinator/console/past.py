"""A group at a past moment, from the log and its history, read by a child process.

The child imports numpy and pyarrow and reads files, which would take the interpreter's lock from the daemon's loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import sys
import time
from pathlib import Path
from typing import Final

import msgspec

from coordinator.console.model import GroupPage
from coordinator.console.source import ConsoleError
from coordinator.version import install

AT_ONCE: Final = 2  # children
WITHIN_S: Final = 60.0
ASK_AGAIN_S = 30.0  # not Final, because tests change it
MOST_BYTES: Final = 64 << 20  # of an answer
NEEDED: Final = ("numpy", "pyarrow")
MODULE: Final = "coordinator.history.moment"


class Past:
    """The past of the groups in one data directory. Must be made on a running loop."""

    def __init__(self, data_dir: Path, history_dir: Path | None = None) -> None:
        self._arguments = [str(data_dir), str(history_dir) if history_dir is not None else ""]
        self._running = asyncio.Semaphore(AT_ONCE)
        self._from_ms = -1
        self._ask_again_at = 0.0

    def why_not(self) -> str:
        """Return a sentence if the past cannot be asked for; empty if it can."""
        missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
        if missing:
            return f"to look back, install {' and '.join(missing)}: {install('history')}"
        return ""

    async def from_ms(self) -> int:
        """Return since when commits and groups are known, in ms since the epoch; -1: not known."""
        if self._from_ms < 0 and time.monotonic() >= self._ask_again_at:  # a new log has no record yet
            self._ask_again_at = time.monotonic() + ASK_AGAIN_S
            with contextlib.suppress(ConsoleError, ValueError):
                self._from_ms = int(await self._ask("from"))
        return self._from_ms

    async def group(self, group: str, at_ms: int) -> GroupPage:
        """Return a group as it was. Raises ConsoleError."""
        if reason := self.why_not():
            raise ConsoleError(reason, 404)
        answer = await self._ask("group", group, str(at_ms))
        try:
            return msgspec.json.decode(answer, type=GroupPage)
        except msgspec.DecodeError as error:
            raise ConsoleError(f"the history answered what cannot be read: {error}", 500) from None

    async def _ask(self, *question: str) -> bytes:
        """Run the child with a question and return its answer. It is killed if the one who asked goes."""
        async with self._running:
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-m", MODULE, *self._arguments,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
                limit=MOST_BYTES,
            )  # fmt: skip
            try:
                async with asyncio.timeout(WITHIN_S):
                    answer, complaint = await child.communicate(msgspec.json.encode(question))
            except TimeoutError:
                raise ConsoleError(
                    f"the history did not answer within {WITHIN_S:g} s; ask `coordinator history`", 503
                ) from None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    child.kill()
        if child.returncode:
            raise ConsoleError(complaint.decode("utf-8", "replace").strip().rpartition("\n")[2] or "no history", 404)
        return answer
