"""A daemon with groups that have a past, for the commands of how-to pages, and a directory where they are typed."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from confluent_kafka import Producer

from protocol.error_codes import ErrorCode
from tests.docs.blocks import ROOT
from tests.docs.stage import NOT_A_NEWCOMERS
from tests.docs.terminals import Foreground
from tests.support.daemon import Daemon
from tests.support.group_member import GroupMember, alone_in_group
from tests.support.machine_tools import require_tool
from tests.support.simple_group import commit
from tests.support.wire import Wire

TYPED_S: Final = 120.0
PARTITIONS: Final = 6
RECORDS: Final = 100
LISTENING: Final = "listening on"
# Packages are there already, and a proxy is not asked for 127.0.0.1.
PRELUDE: Final = "pip() { :; }\ncurl() { command curl --fail --noproxy '*' \"$@\"; }\n"


class World:
    """The daemon, its groups, and a shell."""

    def __init__(self, directory: Path) -> None:
        for tool in ("bash", "curl"):
            require_tool(tool)
        self.directory = directory
        self.daemon = Daemon(
            directory,
            http="127.0.0.1:0",
            topics=(f"orders:{PARTITIONS}", "payments:1"),
            overrides=("group.initial.rebalance.delay.ms=0",),
        ).start()
        self.runner = asyncio.Runner()
        self._screens = 0
        (directory / "home" / ".config" / "fish" / "completions").mkdir(parents=True)
        (directory / "examples").symlink_to(ROOT / "examples")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(NOT_A_NEWCOMERS)}
        self.environment = {
            **kept,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(directory / "home"),
            "COORDINATOR_BOOTSTRAP_SERVER": self.daemon.address,
        }
        self._members: list[GroupMember] = []
        self._make_a_past()
        self.daemon.stop()
        self.stopped_data = directory / "stopped" / "data"  # as a daemon leaves it that was stopped
        shutil.copytree(self.daemon.data_dir, self.stopped_data)
        self.daemon.start()

    def close(self) -> None:
        for member in self._members:
            self.runner.run(member.wire.close())
        self.runner.close()
        self.daemon.stop()

    def adapted(self, text: str) -> str:
        """Return the text with this daemon's addresses."""
        for written in ("kafka.example:9092", "kafka-1:9092", "127.0.0.1:9092", "localhost:9092"):
            text = text.replace(written, self.daemon.address)
        return text.replace("127.0.0.1:9080", f"127.0.0.1:{self.daemon.http_port}")

    def type(self, text: str, *, folder: str = ".") -> str:
        """Run commands in a shell that ends at the first one that fails. Return the output."""
        (self.directory / folder).mkdir(exist_ok=True)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", PRELUDE + self.adapted(text)],
            cwd=self.directory / folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TYPED_S,
            check=False,
        )
        assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    @contextmanager
    def serving(self, text: str, *, folder: str, **environment: str) -> Iterator[Foreground]:
        """Run commands that serve until they are told to stop, in a folder of their own, and kill them at the end."""
        (self.directory / folder).mkdir(exist_ok=True)
        self._screens += 1
        screen = self.directory / f"screen-{self._screens}"
        served = Foreground(PRELUDE + text, self.directory / folder, {**self.environment, **environment}, screen)
        try:
            served.says(LISTENING)
            yield served
        finally:
            served.close()

    def member(self, group: str, client_id: str, *, instance_id: str | None = None) -> GroupMember:
        """Return a member that is alone in its group and owns all partitions of orders."""

        async def join() -> GroupMember:
            wire = await Wire.connect(self.daemon.port, client_id=client_id)
            if instance_id is None:
                return await alone_in_group(wire, group, "orders", PARTITIONS)
            member = GroupMember(wire, group, ["orders"], instance_id=instance_id)
            assert await member.join() is ErrorCode.NONE
            return member

        member = self.runner.run(join())
        self._members.append(member)
        return member

    def _make_a_past(self) -> None:
        """Fill the topic, and have members of two groups join, commit and leave, twice."""
        producer = Producer({"bootstrap.servers": self.daemon.address, "linger.ms": 0})
        for number in range(RECORDS * PARTITIONS):
            producer.produce("orders", str(number), partition=number % PARTITIONS)
        producer.flush()

        async def commit_and_leave(member: GroupMember) -> None:
            for offset in (RECORDS // 4, RECORDS // 2):
                offsets = {("orders", index): offset for index in range(PARTITIONS)}
                assert await member.commit(offsets) is ErrorCode.NONE
            assert await member.leave() is ErrorCode.NONE

        for group in ("orders-service", "shop", "orders-service", "shop"):
            self.runner.run(commit_and_leave(self.member(group, "web-1")))
        commit(self.daemon.port, "payments", 1)
        commit(self.daemon.port, "readers", 0)
