"""`coordinator restore` and `undo` against scripted brokers: plans, refusals, old versions, errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coordinator.cli.main import main
from coordinator.history.times import local_time
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from tests.history.stories import Story
from tests.support.scripted_broker import ScriptedBroker

pytestmark = pytest.mark.integration

GROUP = "g"
Key = tuple[str, int]


class Broker:
    """One node that coordinates the group and leads every partition, with logs from 0 to 100 by default."""

    def __init__(self, committed: dict[Key, int]) -> None:
        self.committed = dict(committed)
        self.reach: dict[Key, tuple[int, int]] = {(t, p): (0, 100) for t in ("t", "u") for p in range(3)}
        self.members: list[DescribedGroupMember] = []
        self.commit_errors: list[int] = []
        self.no_topic = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        self.commits: list[OffsetCommitRequest] = []
        self.node = ScriptedBroker(
            {
                MetadataRequest: self._metadata,
                FindCoordinatorRequest: lambda *_: FindCoordinatorResponse(
                    node_id=1, host="127.0.0.1", port=self.node.port
                ),
                DescribeGroupsRequest: self._describe,
                OffsetFetchRequest: self._fetch,
                OffsetCommitRequest: self._commit,
                OffsetDeleteRequest: self._delete,
                ListOffsetsRequest: self._list_offsets,
            }
        )

    def _metadata(self, request: MetadataRequest, _: int) -> MetadataResponse:
        topics = []
        for wanted in request.topics or ():
            own = [partition for topic, partition in self.reach if topic == wanted.name]
            partitions = [MetadataResponsePartition(partition_index=each, leader_id=1) for each in own]
            code = 0 if own else self.no_topic
            topics.append(MetadataResponseTopic(error_code=code, name=wanted.name, partitions=partitions))
        return MetadataResponse(
            brokers=[MetadataResponseBroker(1, "127.0.0.1", self.node.port)], controller_id=1, topics=topics
        )

    def _describe(self, *_: Any) -> DescribeGroupsResponse:
        state = "Stable" if self.members else "Empty"
        return DescribeGroupsResponse(
            groups=[DescribedGroup(group_id=GROUP, group_state=state, protocol_type="x", members=self.members)]
        )

    def _fetch(self, *_: Any) -> OffsetFetchResponse:
        return OffsetFetchResponse(
            topics=[
                OffsetFetchResponseTopic(
                    topic, [OffsetFetchResponsePartition(partition_index=index, committed_offset=offset, metadata="")]
                )
                for (topic, index), offset in self.committed.items()
            ]
        )

    def _commit(self, request: OffsetCommitRequest, _: int) -> OffsetCommitResponse:
        self.commits.append(request)
        code = self.commit_errors.pop(0) if self.commit_errors else 0
        answers = []
        for topic in request.topics:
            partitions = []
            for each in topic.partitions:
                if not code:
                    self.committed[topic.name, each.partition_index] = each.committed_offset
                partitions.append(OffsetCommitResponsePartition(each.partition_index, code))
            answers.append(OffsetCommitResponseTopic(name=topic.name, partitions=partitions))
        return OffsetCommitResponse(topics=answers)

    def _delete(self, request: OffsetDeleteRequest, _: int) -> OffsetDeleteResponse:
        answers = []
        for topic in request.topics:
            for each in topic.partitions:
                del self.committed[topic.name, each.partition_index]
            partitions = [OffsetDeleteResponsePartition(each.partition_index, 0) for each in topic.partitions]
            answers.append(OffsetDeleteResponseTopic(name=topic.name, partitions=partitions))
        return OffsetDeleteResponse(topics=answers)

    def _list_offsets(self, request: ListOffsetsRequest, _: int) -> ListOffsetsResponse:
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(
                    topic.name,
                    [
                        ListOffsetsPartitionResponse(
                            partition_index=each.partition_index,
                            offset=self.reach[topic.name, each.partition_index][each.timestamp == -1],
                        )
                        for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )


@pytest.fixture
def broker() -> Iterator[Broker]:
    broker = Broker({("t", 0): 50, ("t", 1): 60, ("u", 0): 9, ("u", 1): 3})
    with broker.node:
        yield broker


class World:
    """A story, the time of the state to restore, and the command."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        story = Story(GROUP).members("a").commit(t=10, t_1=20, metadata="note").commit(u=9)
        self.then = local_time(story.now_ms - 1)
        story.wait(60).commit(t=50, t_1=60, u=9).empty().wait(60).commit(t=50, u_1=3)
        self.data_dir = story.source(directory).data_dir
        self.directory = directory
        self._capsys = capsys
        self.out = self.err = ""

    def run(self, broker: Broker | str, command: str, *words: str) -> int:
        at = ["--at", self.then] if command == "restore" else []
        address = broker if isinstance(broker, str) else broker.node.address
        place = ["--data-dir", str(self.data_dir), "--bootstrap-server", address]
        code = main([command, GROUP, *at, *place, *words])
        captured = self._capsys.readouterr()
        self.out, self.err = captured.out, captured.err
        return code


@pytest.fixture
def world(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> World:
    return World(tmp_path / "data", capsys)


def requested(request: OffsetCommitRequest) -> dict[Key, tuple[int, str | None]]:
    return {
        (topic.name, each.partition_index): (each.committed_offset, each.committed_metadata)
        for topic in request.topics
        for each in topic.partitions
    }


def test_plan_is_shown_with_todays_offsets_and_changes_nothing(world: World, broker: Broker) -> None:
    before = dict(broker.committed)
    assert world.run(broker, "restore") == 0
    table = [line.split() for line in world.out.splitlines()]
    assert ["t-0", "50", "10", "-40", "set"] in [row[:5] for row in table]
    assert ["u-0", "9", "9", "0", "unchanged"] in [row[:5] for row in table]
    assert ["u-1", "3", "-", "-", "left", "alone"] in [row[:6] for row in table]
    assert f"as they stood at {world.then}" in world.out
    assert "--execute would change 2 partitions" in world.err
    assert "1 partition had no offset then" in world.err
    assert broker.committed == before
    assert not broker.commits


def test_execute_commits_the_differences_in_one_request_with_metadata(world: World, broker: Broker) -> None:
    assert world.run(broker, "restore", "--execute") == 0
    (request,) = broker.commits
    assert requested(request) == {("t", 0): (10, "note"), ("t", 1): (20, "note")}
    assert (request.generation_id_or_member_epoch, request.member_id, request.group_instance_id) == (-1, "", None)
    assert broker.committed == {("t", 0): 10, ("t", 1): 20, ("u", 0): 9, ("u", 1): 3}
    assert "done: 2 offsets of group g set" in world.err
    assert "set" in world.out


def test_delete_new_deletes_offsets_that_did_not_exist_then(world: World, broker: Broker) -> None:
    assert world.run(broker, "restore", "--execute", "--delete-new") == 0
    assert broker.committed == {("t", 0): 10, ("t", 1): 20, ("u", 0): 9}
    assert "2 offsets of group g set, 1 deleted" in world.err


def test_a_topic_limits_the_plan(world: World, broker: Broker) -> None:
    assert world.run(broker, "restore", "--topic", "u", "--json") == 0
    plan = json.loads(world.out)
    assert [(each["topic"], each["partition"], each["what"]) for each in plan["partitions"]] == [
        ("u", 0, "unchanged"),
        ("u", 1, "left alone"),
    ]
    assert plan["executed"] is False


def test_active_group_is_refused_with_its_members_and_what_to_do(world: World, broker: Broker) -> None:
    broker.members = [
        DescribedGroupMember(member_id=f"m-{number}", client_id=f"web-{number}", client_host="/10.0.0.7")
        for number in range(7)
    ]
    assert world.run(broker, "restore", "--execute") == 1
    assert "group 'g' is Stable with 7 members" in world.err
    assert "web-0 at 10.0.0.7" in world.err
    assert "and 2 more" in world.err
    assert "stop them" in world.err
    assert not broker.commits


def test_member_that_joins_in_between_is_explained_too(world: World, broker: Broker) -> None:
    broker.commit_errors = [ErrorCode.UNKNOWN_MEMBER_ID]
    assert world.run(broker, "restore", "--execute") == 1
    assert "got a member while this ran" in world.err


def test_request_is_retried_while_the_coordinator_loads(world: World, broker: Broker) -> None:
    broker.commit_errors = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR]
    assert world.run(broker, "restore", "--execute") == 0
    assert len(broker.commits) == 3


def test_any_other_error_is_named(world: World, broker: Broker) -> None:
    broker.commit_errors = [ErrorCode.GROUP_AUTHORIZATION_FAILED]
    assert world.run(broker, "restore", "--execute") == 1
    assert "2 of 2 offsets of group 'g' were not set" in world.err
    assert "GROUP_AUTHORIZATION_FAILED" in world.err


def test_offsets_outside_the_log_are_moved_into_it_and_noted(world: World, broker: Broker) -> None:
    broker.reach[("t", 0)] = (40, 100)
    broker.reach[("t", 1)] = (0, 15)
    assert world.run(broker, "restore", "--execute") == 0
    assert (broker.committed["t", 0], broker.committed["t", 1]) == (40, 15)
    assert "its log now begins at 40" in " ".join(world.out.split())
    assert "its log now ends at 15" in " ".join(world.out.split())


def test_deleted_partition_is_named_and_the_others_are_restored(world: World, broker: Broker) -> None:
    del broker.reach["t", 1]
    assert world.run(broker, "restore", "--execute") == 1
    assert broker.committed["t", 0] == 10
    assert "does not exist any more" in " ".join(world.out.split())
    assert [topic.partitions[0].partition_index for topic in broker.commits[0].topics] == [0]


def test_topic_with_another_error_counts_as_existing(world: World, broker: Broker) -> None:
    broker.reach = {key: span for key, span in broker.reach.items() if key[0] != "t"}
    broker.no_topic = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert world.run(broker, "restore", "--execute") == 0
    assert (broker.committed["t", 0], broker.committed["t", 1]) == (10, 20)


def test_requests_to_old_brokers_use_their_versions(world: World, broker: Broker) -> None:
    broker.node.versions |= {
        ApiKey.OFFSET_COMMIT: (0, 2),
        ApiKey.OFFSET_FETCH: (0, 2),
        ApiKey.LIST_OFFSETS: (0, 1),
        ApiKey.METADATA: (0, 4),
        ApiKey.DESCRIBE_GROUPS: (0, 1),
    }
    assert world.run(broker, "restore", "--execute") == 0
    assert broker.committed["t", 0] == 10


def test_requests_to_new_brokers_name_topics(world: World, broker: Broker) -> None:
    world.run(broker, "restore", "--execute")
    assert broker.node.versions_seen(OffsetCommitRequest) == [9], "from 10 on topics have ids instead"


def test_without_the_brokers_the_plan_is_shown_and_exported_but_not_executed(world: World, tmp_path: Path) -> None:
    with ScriptedBroker() as node:
        unreachable = node.address
    assert world.run(unreachable, "restore", "--export", str(tmp_path / "plan.csv")) == 0
    assert "without today's offsets: cannot connect" in world.err
    assert (tmp_path / "plan.csv").read_text() == "t,0,10\nt,1,20\nu,0,9\n"
    assert world.run(unreachable, "restore", "--execute") == 2
    assert f"cannot connect to {unreachable}" in world.err


def test_the_plan_is_exported_in_both_forms_of_kafkas_csv(world: World, broker: Broker, tmp_path: Path) -> None:
    one, several = tmp_path / "one.csv", tmp_path / "several.csv"
    assert world.run(broker, "restore", "--export", str(one), "--export-groups", str(several)) == 0
    assert one.read_text() == "t,0,10\nt,1,20\nu,0,9\n"
    assert several.read_text() == "g,t,0,10\ng,t,1,20\ng,u,0,9\n"
    assert world.run(broker, "restore", "--topic", "none", "--export", str(one)) == 1
    assert "no commit of group 'g' to 'none' is known in that time; it committed to: t, u" in world.err
    assert world.run(broker, "restore", "--export", str(tmp_path / "no" / "such.csv")) == 2


def test_future_time_is_refused(world: World, broker: Broker) -> None:
    assert main(["restore", GROUP, "--at", "2999-01-01", "--data-dir", str(world.data_dir)]) == 2
    assert main(["restore", GROUP, "--at", "soon", "--data-dir", str(world.data_dir)]) == 2


def test_time_relative_to_now_is_accepted(world: World, broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    place = ["--data-dir", str(world.data_dir), "--bootstrap-server", broker.node.address]
    assert main(["restore", GROUP, "--at", "-15m", "--json", *place]) == 0
    assert {each["what"] for each in json.loads(capsys.readouterr().out)["partitions"]} == {"unchanged"}


def test_undo_restores_the_offsets_before_the_last_reset(world: World, broker: Broker) -> None:
    assert world.run(broker, "undo") == 0
    assert "before the reset of 2 partitions" in world.out
    assert "u-1" in world.out and "t-1" not in world.out, "only what it touched"
    broker.committed["t", 0] = 1
    assert world.run(broker, "undo", "--execute", "--delete-new") == 0
    assert broker.committed == {("t", 0): 50, ("t", 1): 60, ("u", 0): 9}


def test_undo_reports_that_no_reset_is_known(
    tmp_path: Path, broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    for story, reason in (
        (Story(GROUP).members("a").commit(t=1), "everything was committed by its members"),
        (Story(GROUP).commit(t=1).wait(9).commit(t=2), "it never had members, and no commit of it went back"),
    ):
        data_dir = story.source(tmp_path / reason[:5]).data_dir
        assert main(["undo", GROUP, "--data-dir", str(data_dir), "--bootstrap-server", broker.node.address]) == 1
        err = capsys.readouterr().err
        assert reason in err
        assert "coordinator restore g --at TIME" in err


def test_undo_reports_its_doubts(tmp_path: Path, broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    simple = Story(GROUP).commit(t=5).wait(9).commit(t=1).wait(9).commit(t=2).source(tmp_path / "simple").data_dir
    assert main(["undo", GROUP, "--data-dir", str(simple), "--bootstrap-server", broker.node.address]) == 0
    err = capsys.readouterr().err
    assert "never had members, so its last commit that went back is taken for the reset" in err
    assert "has committed once since" in err
    busy = Story(GROUP).members("a").empty()
    for number in range(30):
        busy.commit(t=number).wait(5)
    data_dir = busy.source(tmp_path / "busy").data_dir
    assert main(["undo", GROUP, "--data-dir", str(data_dir), "--bootstrap-server", broker.node.address]) == 0
    assert "29 more commits came while the group had no members" in capsys.readouterr().err


def test_restore_reports_gaps_in_the_history_and_refuses_delete_new(
    tmp_path: Path, broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    story = Story(GROUP).members("a").commit(t=10)
    then = local_time(story.now_ms)
    story.next_offset += 3
    data_dir = story.wait(5).commit(t_1=20).source(tmp_path / "data").data_dir
    words = ["restore", GROUP, "--at", then, "--data-dir", str(data_dir), "--bootstrap-server", broker.node.address]
    assert main([*words, "--execute"]) == 0
    assert "others may be missing" in capsys.readouterr().err
    assert broker.committed["t", 0] == 10
    assert main([*words, "--delete-new"]) == 2
    assert "run this without --delete-new" in capsys.readouterr().err
