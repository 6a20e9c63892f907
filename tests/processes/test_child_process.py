"""Children of the daemon: their answers, the errors when they fail, and the end of all their processes."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from coordinator.processes import child_process
from coordinator.processes.child_process import ChildError, Children
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration


@pytest.fixture
def children() -> Iterator[Children]:
    made = Children()
    yield made
    made.close()


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def echo(stdin: IO[bytes], stdout: IO[bytes]) -> bytes:
    stdin.write(b"question\n")
    stdin.flush()
    line = stdout.readline()
    if not line:
        raise EOFError
    return line


def is_gone(pid: int) -> bool:
    """Return True if the process has ended, reaped or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_child_answers_its_orders(children: Children) -> None:
    answered = children.run(python("print(input()[::-1])"), echo, timeout_s=20, name="the child")
    assert answered == b"noitseuq\n"


def test_the_error_of_a_failed_child_has_the_last_line_of_its_stderr(children: Children) -> None:
    with pytest.raises(ChildError, match=r"^the child ended with 1: ValueError: no such plan$"):
        children.run(python("raise ValueError('no such plan')"), echo, timeout_s=20, name="the child")


def test_a_child_that_fails_after_its_answer_has_failed(children: Children) -> None:
    with pytest.raises(ChildError, match=r"^the child ended with 3 and did not say why$"):
        children.run(python("print(input(), flush=True); raise SystemExit(3)"), echo, timeout_s=20, name="the child")


def test_the_error_of_a_killed_child_names_the_signal(children: Children) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    with pytest.raises(ChildError, match=r"^the child was killed by SIGKILL$"):
        children.run(python(code), echo, timeout_s=20, name="the child")


def test_a_program_that_does_not_exist_is_an_error(children: Children) -> None:
    with pytest.raises(ChildError, match=r"^the child cannot be started \(.*no-such-program"):
        children.run(["/no-such-program"], echo, timeout_s=20, name="the child")


STUBBORN = """
import subprocess, sys, time
grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(grandchild.pid, flush=True)
time.sleep(600)
"""


def test_a_child_past_its_limit_is_killed_with_the_processes_it_started(
    children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_process, "GRACE_S", 0.1)
    pids: list[int] = []

    def converse(stdin: IO[bytes], stdout: IO[bytes]) -> None:
        pids.append(int(stdout.readline()))
        assert not stdout.readline(), "it sends nothing more until it has ended"

    with pytest.raises(ChildError, match=r"^the child did not end in 2 s and was killed$"):
        children.run(python(STUBBORN), converse, timeout_s=2, name="the child")
    eventually(lambda: is_gone(pids[0]), "the grandchild is gone")


def test_a_child_that_makes_progress_may_take_longer_than_its_limit(children: Children) -> None:
    def converse(stdin: IO[bytes], stdout: IO[bytes], restart_limit: Callable[[], None]) -> bytes:
        end = time.monotonic() + 6
        while time.monotonic() < end:
            restart_limit()
            time.sleep(0.01)
        stdin.write(b"tsal ta\n")
        stdin.flush()
        return stdout.readline()

    echo = python("print(input()[::-1])")
    assert children.run_watched(echo, converse, timeout_s=5, name="the child") == b"at last\n"


def test_close_ends_running_children_and_prevents_new_ones(children: Children, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process, "GRACE_S", 0.1)
    pids: list[int] = []
    ended: list[BaseException] = []

    def converse(stdin: IO[bytes], stdout: IO[bytes]) -> None:
        pids.append(int(stdout.readline()))
        stdout.readline()

    def run() -> None:
        try:
            children.run(python(STUBBORN), converse, timeout_s=60, name="the child")
        except ChildError as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    eventually(lambda: pids, "the child has started")
    children.close()
    thread.join(20)
    assert [str(error) for error in ended] == ["the child was killed by SIGKILL"]
    eventually(lambda: is_gone(pids[0]), "the grandchild is gone")
    with pytest.raises(ChildError, match="was not started: the daemon stops"):
        children.run(python("pass"), echo, timeout_s=20, name="the child")


def test_a_child_is_notified_when_its_lifeline_is_cut(children: Children) -> None:
    """The cut of the lifeline lets the child stop cleanly, long before it would be killed."""
    code = (
        "import os, sys; print(os.getpid(), flush=True);"
        f"os.read(int(os.environ[{child_process.LIFELINE_VARIABLE!r}]), 1); sys.exit('told to go')"
    )
    started = threading.Event()

    def converse(stdin: IO[bytes], stdout: IO[bytes]) -> None:
        stdout.readline()
        started.set()
        stdout.readline()

    closer = threading.Thread(target=lambda: (started.wait(20), children.close()))
    closer.start()
    with pytest.raises(ChildError, match=r"^the child ended with 1: told to go$"):
        children.run(python(code), converse, timeout_s=60, name="the child")
    closer.join(20)


def test_a_child_inherits_no_open_files_of_the_daemon(children: Children) -> None:
    """A socket that a child inherits would stay open when the daemon closes it."""
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)
    try:
        code = f"import os; input()\ntry: os.fstat({write_end}); print('open')\nexcept OSError: print('closed')"
        assert children.run(python(code), echo, timeout_s=20, name="the child") == b"closed\n"
    finally:
        os.close(read_end)
        os.close(write_end)


def test_signals_to_the_daemons_group_do_not_reach_a_child(children: Children) -> None:
    """Control-C in a terminal signals the whole process group; the daemon stops its children itself, in order."""
    code = "import os; input(); print(os.getpid(), os.getpgid(0), os.getsid(0))"
    pid, group, session = map(int, children.run(python(code), echo, timeout_s=20, name="it").split())
    assert group == pid
    assert session == os.getsid(0), "in a separate session the nice value of the child would have no effect"
