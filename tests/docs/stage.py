"""A machine for one page: a repository to clone, an environment without downloads, free ports, and two terminals.

All differences from the text of a page are made here:

* `<this repository>` is a copy of the work tree, so that the tests see the change that will be committed.
* `.venv` exists before make looks for it: the code comes from the clone, all else from the environment of the tests.
  Its `pip` installs nothing, and fails for a package that this environment does not have.
* The ports 9092 and 9080 are replaced by free ones, also for commands that use them by default.
* A screen is a file, and Python writes to it line by line, as to a terminal. Without a buffer, lines of two programs
  would be mixed.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sysconfig
import venv
from pathlib import Path
from typing import Final

from tests.docs.blocks import ROOT
from tests.docs.terminals import Foreground, Terminal
from tests.support.machine_tools import require_tool

NAME: Final = "kafka-group-coordinator"
NOT_A_NEWCOMERS: Final = ("COORDINATOR_", "KAFKA_", "MAKE", "MFLAGS", "ARGS", "PYTHONUNBUFFERED")
"""Prefixes of variables that belong to the run of the tests, such as `make test ARGS=…`, and are removed."""
NEWCOMERS_TOOLS: Final = {"bash": "bash", "git": "git", "make": "make"}
_ASKS_A_BROKER: Final = re.compile(r"^(.*\bcoordinator (?:topics|groups|restore|undo|cluster) [^\n#]*?)( *#.*)?$", re.M)
_BY_THE_LINE: Final = "import sys; sys.stdout and sys.stdout.reconfigure(line_buffering=True)"
_PIP: Final = """#!/bin/sh
for name in "$@"; do
  case $name in
    install | -*) continue ;;
    '.[history]') name=pyarrow ;;
  esac
  "$(dirname "$0")/python" -c "import importlib.metadata as m; m.version('$name')" || exit 1
done
"""


class Stage:
    """Runs one page: a clone, its environment and its terminals."""

    def __init__(self, scratch: Path) -> None:
        for tool, package in NEWCOMERS_TOOLS.items():
            require_tool(tool, package)
        self.scratch = scratch
        self.home = scratch / "home"
        self.clone = self.home / NAME
        self.port, self.http_port = _free_port(), _free_port()
        self.daemon: Foreground | None = None
        self.second: Terminal | None = None
        self._screens = 0
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(NOT_A_NEWCOMERS)},
            "COORDINATOR_LISTENERS": f"127.0.0.1:{self.port}",
            "COORDINATOR_HTTP_LISTEN": f"127.0.0.1:{self.http_port}",
            "COLUMNS": "120",
        }
        self.home.mkdir()
        self._copy = _copy_of_the_work_tree(scratch / "origin" / NAME)

    def adapted(self, text: str) -> str:
        """Return the text with this machine's repository and ports."""
        text = text.replace("<this repository>", str(self._copy))
        text = text.replace("127.0.0.1:9092", f"127.0.0.1:{self.port}").replace(
            "127.0.0.1:9080", f"127.0.0.1:{self.http_port}"
        )
        return _ASKS_A_BROKER.sub(rf"\1 --bootstrap-server 127.0.0.1:{self.port}\2", text)

    # -- actions of a page ---------------------------------------------------------------------------------------------

    def clone_repository(self, command: str) -> None:
        """Run `git clone … && cd …`, and make the environment that `make run` would have made."""
        subprocess.run(["bash", "-c", self.adapted(command)], cwd=self.home, check=True, capture_output=True)
        self._make_environment()

    def start_daemon(self, command: str) -> None:
        """Start a daemon in the first terminal."""
        self.daemon = Foreground(self.adapted(command), self.clone, self.environment, self._screen())
        self.daemon.says("listening on")

    def type(self, text: str) -> str:
        """Type commands in the second terminal and return their output."""
        if self.second is None:
            self.second = Terminal(self.clone, self.environment, self._screen())
        return self.second.type(self.adapted(text))

    def save(self, name: str, text: str) -> None:
        """Write a file into the clone."""
        (self.clone / name).write_text(self.adapted(text), encoding="utf-8")

    def close(self) -> None:
        for terminal in (self.second, self.daemon):
            if terminal is not None:
                terminal.close()

    # -- set-up --------------------------------------------------------------------------------------------------------

    def _screen(self) -> Path:
        self._screens += 1
        return self.scratch / f"screen-{self._screens}"

    def _make_environment(self) -> None:
        directory = self.clone / ".venv"
        venv.EnvBuilder(symlinks=True).create(directory)
        (packages,) = directory.glob("lib/python*/site-packages")
        theirs = sysconfig.get_path("purelib")
        (packages / "clone.pth").write_text(f"{self.clone}\nimport site; site.addsitedir({theirs!r})\n{_BY_THE_LINE}\n")
        scripts = directory / "bin"
        _program(
            scripts / "coordinator",
            f"#!{scripts}/python\nimport sys\nfrom coordinator.__main__ import main\nsys.exit(main())\n",
        )
        _program(scripts / "pip", _PIP)
        (directory / ".installed").touch()


def _program(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def _copy_of_the_work_tree(to: Path) -> Path:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    for name in listed.split("\0"):
        if name and (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)
    for command in (
        ("init", "--quiet"),
        ("add", "--all", "--force"),
        ("-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "--quiet", "--message", "a copy"),
    ):
        subprocess.run(["git", *command], cwd=to, check=True, capture_output=True)
    return to


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
