"""Fixtures of the client tests: one daemon per file, and for each test a group, topics and members of its own."""

from __future__ import annotations

import contextlib
import gc
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.clients.member_process import MemberProcess
from tests.clients.members import LIBRARIES, ClientMember, MemberOptions, TopicPartition
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.questions import GroupView, describe_group, produce

Assignments = dict[str, frozenset[TopicPartition]]


# Warnings about the libraries' own code: kafka-python reads its schemas in a way that Python 3.11 alone calls
# deprecated, and drops sockets of connections that were refused without closing them.
ABOUT_THE_LIBRARIES = ("ignore:(read|open)_text is deprecated:DeprecationWarning", "ignore:unclosed:ResourceWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            for each in ABOUT_THE_LIBRARIES:
                item.add_marker(pytest.mark.filterwarnings(each))


@pytest.fixture(autouse=True)
def collect_what_a_library_dropped() -> Iterator[None]:
    """While the warnings about it are still ignored: later it would look like another test's fault."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon whose groups form at once and whose members may be silent for only a second or more."""
    overrides = ("group.initial.rebalance.delay.ms=0", "group.min.session.timeout.ms=1000")
    with Daemon(tmp_path_factory.mktemp("daemon"), overrides=overrides) as running:
        yield running


class Crew:
    """The members of one group on one daemon, and what should be true of them together."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self.group = f"group-{uuid.uuid4().hex[:8]}"
        self._topics: dict[str, int] = {}
        self._members: list[ClientMember | MemberProcess] = []

    def topic(self, partitions: int, name: str = "topic") -> str:
        """Create a topic; its name is the given one with a tail of its own, so names keep their order."""
        full = f"{name}-{self.group}"
        self.daemon.create_topic(full, partitions)
        self._topics[full] = partitions
        return full

    def _options(self, name: str, settings: dict[str, Any]) -> MemberOptions:
        return MemberOptions(
            address=self.daemon.address,
            group=self.group,
            topics=settings.pop("topics", tuple(self._topics)),
            name=name,
            **settings,
        )

    def join(self, library: str, name: str = "a", **settings: Any) -> ClientMember:
        """A member in this process. `settings` are fields of `MemberOptions`; topics default to all of the test's."""
        member = LIBRARIES[library](self._options(name, settings))
        self._members.append(member)
        return member

    def join_as_process(self, library: str, name: str = "p", **settings: Any) -> MemberProcess:
        """A member that can be killed."""
        member = MemberProcess(library, self._options(name, settings))
        self._members.append(member)
        return member

    def leave(self, member: ClientMember | MemberProcess) -> None:
        self._members.remove(member)
        member.close()

    def produce(self, topic: str, values_by_partition: Mapping[int, list[bytes]]) -> None:
        for partition, values in values_by_partition.items():
            produce(self.daemon.port, topic, partition, values)

    def view(self) -> GroupView:
        return describe_group(self.daemon.port, self.group)

    def partitions(self) -> frozenset[TopicPartition]:
        """All partitions of the test's topics."""
        return frozenset((topic, index) for topic, count in self._topics.items() for index in range(count))

    def settles(self, *members: ClientMember | MemberProcess, within_s: float = 30.0) -> Assignments:
        """Wait until these members own all partitions, each exactly one owner, and the coordinator agrees.

        Returns the assignment of each member by its name.
        """
        wanted = self.partitions()

        def settled() -> Assignments | None:
            owned = {member.options.name: member.assignment() for member in members}
            total = sum(len(each) for each in owned.values())
            if total != len(wanted) or frozenset().union(*owned.values()) != wanted:
                return None
            view = self.view()
            agreed = view.state == "Stable" and sorted(map(sorted, view.assignments.values())) == sorted(
                map(sorted, owned.values())
            )
            return owned if agreed else None

        try:
            return eventually(settled, "all partitions have exactly one owner", within_s=within_s)
        except AssertionError as failure:
            raise AssertionError(f"{failure}; members {members}; the coordinator says {self.view()}") from None

    def close(self) -> None:
        with contextlib.ExitStack() as all_of_them:  # one that fails does not keep the others
            for member in self._members:
                all_of_them.callback(member.close)
        self._members.clear()


@pytest.fixture
def crew(daemon: Daemon) -> Iterator[Crew]:
    made = Crew(daemon)
    yield made
    made.close()


@pytest.fixture(params=sorted(LIBRARIES))
def library(request: pytest.FixtureRequest) -> str:
    """Each of the three client libraries in turn."""
    return str(request.param)
