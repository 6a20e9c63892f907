"""Three libraries in one group: what they have in common is the protocol, and the coordinator that runs it."""

from __future__ import annotations

import itertools

import pytest

from tests.clients.conftest import Crew
from tests.clients.members import LIBRARIES, check_one_owner_in_each_generation
from tests.support.eventually import eventually
from tests.support.questions import committed_offsets

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("assignor", ["range", "roundrobin"])
def test_members_of_three_libraries_share_one_group(crew: Crew, assignor: str) -> None:
    topic = crew.topic(6)
    members = [crew.join(library, library, assignor=assignor) for library in sorted(LIBRARIES)]
    assert sorted(map(len, crew.settles(*members).values())) == [2, 2, 2]
    assert crew.view().protocol == assignor

    values = {index: [f"{index}-{n}".encode() for n in range(10)] for index in range(6)}
    crew.produce(topic, values)
    eventually(lambda: sum(len(member.received) for member in members) >= 60, "all records are read")
    read = [value for member in members for value in member.values()]
    assert sorted(read) == sorted(itertools.chain.from_iterable(values.values()))

    for member in members:
        member.commit(dict.fromkeys(member.assignment(), 10))
    assert committed_offsets(crew.daemon.port, crew.group) == {(topic, index): 10 for index in range(6)}

    crew.leave(members[0])
    assert sorted(map(len, crew.settles(*members[1:]).values())) == [3, 3]
    newcomer = crew.join(members[0].library, "again", assignor=assignor)
    assert sorted(map(len, crew.settles(newcomer, *members[1:]).values())) == [2, 2, 2]
    assert newcomer.received == [], "everything was committed: there is nothing to read again"
    check_one_owner_in_each_generation(*members, newcomer)
