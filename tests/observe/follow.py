"""An observer in a process of its own, to be killed: `python -m tests.observe.follow BOOTSTRAP DIR [CONFIG]`.

With OBSERVE_SMALL=1 in its environment its segments are small, and housekeeping goes on all the time. It prints a JSON
line whenever its position has changed, and one with `failed` if an error ends it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from coordinator.observe.client_settings import ClientSettings
from coordinator.observe.errors import ObserveError
from coordinator.observe.observer import Observer, ObserverSettings
from tests.observe.world import RememberingState
from tests.support.eventually import eventually

REPOSITORY = Path(__file__).resolve().parents[2]


class Following:
    """The parent's side. `said` is the last line."""

    def __init__(self, bootstrap: str, directory: Path, config: Path | None = None) -> None:
        self._command = [sys.executable, "-m", "tests.observe.follow", bootstrap, str(directory)]
        self._command += [str(config)] if config is not None else []
        self._process: subprocess.Popen[str] | None = None
        self.said: dict[str, Any] = {}

    def __enter__(self) -> Following:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> Following:
        self.said = {}
        self._process = subprocess.Popen(
            self._command,
            stdout=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        self._reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()
        return self

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if process is self._process:
                self.said = json.loads(line)

    def until_ends(self, ends: dict[int, int]) -> dict[str, Any]:
        """Wait until these log ends have been reached."""

        def reached() -> bool:
            positions = self.said.get("positions", {})
            return all(positions.get(str(partition), 0) >= end for partition, end in ends.items())

        eventually(reached, "the observer has reached the end of the log", within_s=60)
        return self.said

    def kill(self) -> None:
        """SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._ended()

    def _ended(self) -> int:
        assert self._process is not None
        assert self._process.stdout is not None
        code = self._process.wait(30)
        self._reader.join()
        self._process.stdout.close()
        return code

    def stop(self) -> int:
        """SIGTERM; return the exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._ended()


async def follow(bootstrap: str, directory: Path, config: Path | None) -> None:
    state = RememberingState()
    settings = ObserverSettings(bootstrap, directory, ClientSettings.read(config), housekeeping_s=0)
    if os.environ.get("OBSERVE_SMALL"):
        settings = replace(settings, housekeeping_s=0.1, segment_bytes=8_000)
    observer = Observer(settings, state)
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    try:
        await observer.start()
    except ObserveError as error:
        print(json.dumps({"failed": str(error)}))
        return
    last = ""
    while not stopping.is_set() and observer.is_running:
        progress = observer.progress
        line = json.dumps(
            {
                "positions": {number: each.next_offset for number, each in progress.partitions.items()},
                "offsets": {"|".join(map(str, key)): offset for key, offset in state.living.items()},
                "records": progress.records,
                "replayed": progress.replayed_records,
                "others": len(state.records),
                "caught_up": state.caught_up_times,
                "problem": progress.problem,
                "reconnects": progress.reconnects,
                "restarts": progress.restarts,
                "gaps": progress.gaps,
                "compactions": progress.compactions,
                "housekeeping": progress.housekeeping_problem,
            }
        )
        if line != last:
            print(line)
            last = line
        await asyncio.sleep(0.05)
    try:
        if not observer.is_running:
            await observer.wait()
    except ObserveError as error:
        print(json.dumps({"failed": str(error)}))
    await observer.stop()


if __name__ == "__main__":
    asyncio.run(follow(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]) if sys.argv[3:] else None))
