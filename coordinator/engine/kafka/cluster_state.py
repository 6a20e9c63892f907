"""The nodes, owners, facts and snapshots of a cluster, from the records of the topic `<name>-nodes` in their order.

All nodes apply the same records, so the offset decides who was first. The topic is compacted: a record is replaced only
by its own writer, so that none hides another one, and what a reader sees later must lead to the same state.

- `run/<node>/<incarnation>`: a run was announced, or renews itself. Of the runs of a node that have not ended, the one
  announced first counts. `followed` is the offset below which its writer knew all records.
- `end/<node>/<incarnation>/<unique>`: the run has ended, unless it has beaten since the beat that the writer knew of.
- `mark/<node>/<incarnation>`: a command marked the run as draining, or as up again. The last one counts.
- `owner/<partition>/<epoch>`: a claim, or its release. The highest epoch counts.
- `snapshot/<partition>/<epoch>`: the place of a snapshot. The highest offset counts.
- `facts/<unique>`: the first one counts. The records of shared documents are told in `document_records`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from coordinator.core.cluster import ClusterNode
from coordinator.core.live_cluster import NO_NODE, ClusterMap, LiveNode, NodeState, OwnedPartition
from coordinator.engine.kafka.client import ProducerIdentity
from coordinator.engine.kafka.document_records import KINDS, DocumentRecords
from coordinator.membership.directory import StoreFacts

LEFT: Final = -1  # instead of a beat: the run ended by itself


class Beat(NamedTuple):
    """Content of a record of a run. `since`: offset of the announcement, -1 in the announcement itself."""

    host: str
    port: int
    state: str
    since: int
    number: int
    followed: int


class Owner(NamedTuple):
    """Newest claim of a partition, and the producer that it was made with. `node` is NO_NODE once it was released."""

    epoch: int  # offset of the topic behind the claim record
    node: int
    incarnation: str
    end_offset: int  # of the log when it was claimed
    producer: ProducerIdentity


class SnapshotPlace(NamedTuple):
    """Place of a snapshot in the topic `<name>-snapshots`."""

    next_offset: int
    epoch: int  # of the claim under which it was made
    first_offset: int  # of its first piece
    end_offset: int  # behind its last piece
    pieces: int


@dataclass(slots=True)
class NodeRun:
    """A run of a node, as its records tell."""

    beat: Beat
    since: int
    heard_s: float  # when its last record was received
    ended_at: int = -1  # offset of the record that ended it; -1: it goes on
    has_left: bool = False


def run_key(node_id: int, incarnation: str) -> str:
    return f"run/{node_id}/{incarnation}"


def end_key(node_id: int, incarnation: str, unique: str) -> str:
    """Return a key of its own for each declaration: a later one, which may be void, must not hide the first."""
    return f"end/{node_id}/{incarnation}/{unique}"


def mark_key(node_id: int, incarnation: str) -> str:
    return f"mark/{node_id}/{incarnation}"


def owner_key(partition: int, epoch: int) -> str:
    return f"owner/{partition}/{epoch}"


def snapshot_key(partition: int, epoch: int) -> str:
    return f"snapshot/{partition}/{epoch}"


class ClusterState:
    """State after the records so far. `facts` is None if there are none."""

    def __init__(self) -> None:
        self.facts: StoreFacts | None = None
        self.owners: dict[int, Owner] = {}
        self.snapshots: dict[int, SnapshotPlace] = {}
        self.documents = DocumentRecords()
        self._runs: dict[int, dict[str, NodeRun]] = {}
        self._marks: dict[tuple[int, str], NodeState] = {}
        self._end_keys: dict[tuple[int, str], set[str]] = {}

    # -- records -------------------------------------------------------------------------------------------------

    def apply(self, offset: int, key: bytes, value: bytes | None, received_s: float) -> bool:
        """Apply the next record. Returns True if the map of nodes and owners has changed."""
        kind, _, rest = key.decode().partition("/")
        first, _, second = rest.partition("/")
        if value is None:
            return self._forget(kind, first, second)
        content = json.loads(value)
        if kind == "run":
            return self._beat(offset, int(first), second, Beat(**content), received_s)
        if kind == "end":
            incarnation = second.partition("/")[0]
            self._end_keys.setdefault((int(first), incarnation), set()).add(key.decode())
            return self._end(offset, int(first), incarnation, content["beat"])
        if kind == "mark":
            self._marks[int(first), second] = NodeState(content["state"])
            return True
        if kind == "owner":
            producer = ProducerIdentity(*content.pop("producer"))
            return self._own(int(first), Owner(int(second), producer=producer, **content))
        if kind == "snapshot":
            place = SnapshotPlace(epoch=int(second), **content)
            if place[:2] >= self.snapshots.get(int(first), place)[:2]:
                self.snapshots[int(first)] = place
        elif kind == "facts" and self.facts is None:
            self.facts = StoreFacts(**content)
        elif kind in KINDS:
            self.documents.apply(kind, first, second, content)
        return False

    def _forget(self, kind: str, first: str, second: str) -> bool:
        if kind == "run":
            self._runs.get(int(first), {}).pop(second, None)
        elif kind == "mark":
            self._marks.pop((int(first), second), None)
        elif kind == "end":
            self._end_keys.pop((int(first), second.partition("/")[0]), None)
        elif kind in KINDS:
            self.documents.forget(first, second)
        return False  # only what does not count any more is removed

    def _beat(self, offset: int, node_id: int, incarnation: str, beat: Beat, received_s: float) -> bool:
        runs = self._runs.setdefault(node_id, {})
        run = runs.get(incarnation)
        if run is None:
            runs[incarnation] = NodeRun(beat, offset if beat.since < 0 else beat.since, received_s)
            return True
        if run.ended_at >= 0:
            if beat.followed <= run.ended_at:
                return False
            run.ended_at, run.has_left = -1, False  # its end was void: the log has been compacted since
        changed = (beat.host, beat.port, beat.state) != run.beat[:3]
        run.beat, run.heard_s = beat, received_s
        return changed

    def _end(self, offset: int, node_id: int, incarnation: str, known_beat: int) -> bool:
        run = self._runs.get(node_id, {}).get(incarnation)
        if run is None:  # the log was compacted; a beat that follows tells whether this was void
            beat = Beat("", 0, NodeState.EXPIRED.value, offset, known_beat, 0)
            run = self._runs.setdefault(node_id, {})[incarnation] = NodeRun(beat, offset, 0.0)
        if run.ended_at >= 0 or (known_beat != LEFT and run.beat.number > known_beat):
            return False
        run.ended_at, run.has_left = offset, known_beat == LEFT
        return True

    def _own(self, partition: int, owner: Owner) -> bool:
        before = self.owners.get(partition)
        if before is not None and (
            before.epoch > owner.epoch or (before.epoch == owner.epoch and before.node == NO_NODE)
        ):
            return False
        self.owners[partition] = owner
        return before != owner

    # -- reading -------------------------------------------------------------------------------------------------

    def run(self, node_id: int, incarnation: str) -> NodeRun | None:
        """Return a run, ended or not."""
        return self._runs.get(node_id, {}).get(incarnation)

    def current(self, node_id: int) -> tuple[str, NodeRun] | None:
        """Return the run of a node that counts: the first of those that go on, else the last that was ended."""
        runs = self._runs.get(node_id, {})
        going = [(run.since, incarnation) for incarnation, run in runs.items() if run.ended_at < 0]
        if going:
            incarnation = min(going)[1]
            return incarnation, runs[incarnation]
        ended = [(run.ended_at, incarnation) for incarnation, run in runs.items() if not run.has_left]
        if ended:
            incarnation = max(ended)[1]
            return incarnation, runs[incarnation]
        return None

    def runs(self, node_id: int) -> Mapping[str, NodeRun]:
        """Return all runs of a node that are known, by incarnation."""
        return self._runs.get(node_id, {})

    def end_keys(self, node_id: int, incarnation: str) -> list[str]:
        """Return the keys of the records that declare the end of a run."""
        return sorted(self._end_keys.get((node_id, incarnation), ()))

    def map(self, heard_after_s: float) -> ClusterMap:
        """Return the nodes and owners. A node is fresh if it was heard of after the given moment."""
        nodes: dict[int, LiveNode] = {}
        for node_id in self._runs:
            if (found := self.current(node_id)) is not None:
                incarnation, run = found
                state = NodeState(run.beat.state)
                if run.ended_at >= 0:
                    state = NodeState.EXPIRED
                elif state is NodeState.UP:
                    state = self._marks.get((node_id, incarnation), state)
                node = ClusterNode(node_id, run.beat.host, run.beat.port)
                nodes[node_id] = LiveNode(node, incarnation, state, run.heard_s >= heard_after_s)
        owners = {
            partition: OwnedPartition(owner.epoch, owner.node, owner.incarnation)
            for partition, owner in self.owners.items()
        }
        return ClusterMap(nodes, owners)


def encode(content: Mapping[str, Any]) -> bytes:
    """Encode the content of a record."""
    return json.dumps(content).encode()
