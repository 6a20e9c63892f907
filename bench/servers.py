"""Start, pin, find and stop the servers that a benchmark measures.

Each is a context manager that gives a `Running`: its process id (the root of its tree) and the port on 127.0.0.1 that
clients begin with. A server starts in a directory of its own, on the cores it is given, and is ready when the manager
enters; what it printed is in `server.log` there. One that does not start raises `BenchError` with the end of that log.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.measure import BUILD, HERE, BenchError, Memory, build_program, cpu_ns, memory, process_tree

START_S: Final = 30.0
STOP_S: Final = 15.0
BUILD_S: Final = 300


@dataclass(frozen=True, slots=True)
class Running:
    """A server that is ready: the root of its process tree, its first port, where it lives."""

    name: str
    pid: int
    port: int
    directory: Path

    def is_alive(self) -> bool:
        """Return whether the process has not exited. A zombie counts as exited."""
        try:
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False

    def processes(self) -> list[int]:
        return process_tree(self.pid)

    def cpu_ns(self) -> int:
        return cpu_ns(self.processes())

    def memory(self) -> Memory:
        return memory(self.processes())

    def log_tail(self) -> str:
        return log_tail(self.directory)


def log_tail(directory: Path, characters: int = 2000) -> str:
    path = directory / "server.log"
    return path.read_text(errors="replace")[-characters:] if path.exists() else ""


def end(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM, then, for a server that does not listen to it, SIGKILL, to it and all it has started."""
    if process.poll() is not None:
        return
    tree = process_tree(process.pid)
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(timeout=STOP_S)
    except subprocess.TimeoutExpired:
        for pid in reversed(tree):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        process.wait()


@contextmanager
def running(
    name: str,
    command: Sequence[str],
    directory: Path,
    core: set[int],
    *,
    port_file: Path | None = None,
    is_ready: Callable[[], int | None] | None = None,
    within_s: float = START_S,
) -> Iterator[Running]:
    """Run `command` on the cores given; ready when it has written `port_file`, or when `is_ready` knows its port."""
    directory.mkdir(parents=True, exist_ok=True)
    port_file = port_file or directory / "port"

    def port_of_file() -> int | None:
        return int(port_file.read_text()) if port_file.exists() else None

    find_port = is_ready or port_of_file
    with (directory / "server.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=directory,  # not the sources: another build of ours must import itself
            preexec_fn=lambda: os.sched_setaffinity(0, core),
        )
    try:
        deadline = time.monotonic() + within_s
        while (port := find_port()) is None:
            if process.poll() is not None or time.monotonic() > deadline:
                how = f"ended with {process.poll()}" if process.poll() is not None else f"not ready in {within_s:g} s"
                raise BenchError(f"{name} did not start ({how}):\n{log_tail(directory)}")
            time.sleep(0.002)
        yield Running(name, process.pid, port, directory)
    finally:
        end(process)


def coordinator(
    directory: Path,
    core: set[int],
    *,
    name: str = "ours",
    python: str = sys.executable,
    workers: int = 1,
    topics: Sequence[str] = (),
    overrides: Sequence[str] = (),
    data_dir: Path | None = None,
    port: int = 0,
    http_port: int | None = None,
    is_ready: Callable[[], int | None] | None = None,
    within_s: float = START_S,
) -> AbstractContextManager[Running]:
    """Ours. `topics` as NAME:PARTITIONS, `overrides` as KEY=VALUE; `python` names the interpreter of another build."""
    directory.mkdir(parents=True, exist_ok=True)
    command = [python, "-m", "coordinator", "serve", "--listen", f"127.0.0.1:{port}"]
    command += ["--http", f"127.0.0.1:{http_port}" if http_port else "off"]
    command += ["--port-file", str(directory / "port"), "--data-dir", str(data_dir or directory / "data")]
    command += ["--workers", str(workers)] if workers > 1 else []
    for topic in topics:
        command += ["--topic", topic]
    for override in overrides:
        command += ["--override", override]
    return running(name, command, directory, core, is_ready=is_ready, within_s=within_s)


def c_echo(directory: Path, core: set[int], *, name: str = "C echo") -> AbstractContextManager[Running]:
    """Start the C echo: the cost of the kernel alone for the same bytes."""
    directory.mkdir(parents=True, exist_ok=True)
    return running(name, [str(build_program("echo")), str(directory / "port")], directory, core)


def uvloop_echo(directory: Path, core: set[int], *, name: str = "uvloop echo") -> AbstractContextManager[Running]:
    """Start the uvloop echo: the cost of Python on uvloop without any work on the bytes."""
    directory.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(HERE / "echo_uvloop.py"), str(directory / "port")]
    return running(name, command, directory, core)


def kfake(
    directory: Path, core: set[int], *, name: str = "kfake", topic: str = "bench", partitions: int = 1
) -> AbstractContextManager[Running]:
    """franz-go's fake cluster, one broker, in memory."""
    directory.mkdir(parents=True, exist_ok=True)
    command = [str(build_kfake()), str(directory / "port"), topic, str(partitions)]
    return running(name, command, directory, core)


def build_kfake() -> Path:
    """Our small Go program around kfake, built when it is older than its sources. BenchError where Go cannot."""
    sources, program = HERE / "peers" / "kfake", BUILD / "kfake"
    if program.exists() and all(program.stat().st_mtime >= each.stat().st_mtime for each in sources.iterdir()):
        return program
    go = shutil.which("go")
    if go is None:
        raise BenchError("Go was not found in PATH; install it to build kfake")
    BUILD.mkdir(exist_ok=True)
    partial = BUILD / f"kfake.{os.getpid()}"
    done = subprocess.run(
        [go, "build", "-o", str(partial), "."],
        cwd=sources,
        env={**os.environ, "CGO_ENABLED": "0"},
        capture_output=True,
        text=True,
        timeout=BUILD_S,
    )
    if done.returncode != 0:
        raise BenchError(f"Go could not build kfake: {(done.stdout + done.stderr)[-600:]}")
    partial.replace(program)
    return program


def mock(
    directory: Path, core: set[int], *, name: str = "librdkafka mock", topic: str = "bench", partitions: int = 1
) -> AbstractContextManager[Running]:
    """librdkafka's mock cluster, one broker, in memory, as a process of its own."""
    directory.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(HERE / "peers" / "mock.py"), str(directory / "port"), topic, str(partitions)]
    return running(name, command, directory, core)
