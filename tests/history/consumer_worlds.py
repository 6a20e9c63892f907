"""Data directories with the log of KIP-848 groups that a real core wrote, and the groups as memory had them meanwhile.

After each step of a script `Watched.look` notes where the log ends and what the group looks like: that is the oracle
for the states that history makes of the log.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coordinator.core.consumer_group.assignors.assignment import Assignment
from coordinator.history.rebalances import GroupRecord, GroupType
from coordinator.history.source import HistorySource
from coordinator.storage.file_names import CATALOGUE_NAME
from tests.compaction.logs import Segment
from tests.history.worlds import data_dir
from tests.support.consumer_world import ConsumerWorld

BATCHES_OF_A_SEGMENT = 8
View = tuple[Any, ...] | None  # None: there is no such group


@dataclass
class Watched:
    """A world, the names that its topics ever had, and what was seen of group `g`, by the end of the log."""

    world: ConsumerWorld
    names: dict[bytes, str] = field(default_factory=dict)
    seen: dict[int, View] = field(default_factory=dict)

    def look(self) -> None:
        image = self.world.topics_image
        found = [topic for name in image.names() if (topic := image.by_name(name)) is not None]
        self.names |= {topic.topic_id: topic.name for topic in found}
        group = self.world.core.consumer_group_ids.get("g")
        view: View = None
        if group is not None:
            members = [
                (
                    each.member_id,
                    each.instance_id,
                    each.epoch,
                    self.places(each.assigned, each.pending),
                    self.places(group.targets[each.member_id]) if each.member_id in group.targets else None,
                )
                for each in group.members.values()
            ]
            view = group.epoch, group.state.value, sorted(members)
        self.seen[self.world.log.partitions[0].high_watermark] = view

    def places(self, *assignments: Assignment) -> tuple[tuple[str, int], ...]:
        return tuple(
            sorted((self.names[topic], number) for one in assignments for topic, some in one.items() for number in some)
        )

    def segments(self) -> list[Segment]:
        """Return the log, with a new segment after each BATCHES_OF_A_SEGMENT batches; the last one is active."""
        found = [Segment(0)]
        for number, (header, batch) in enumerate(self.world.log.batches(0), 1):
            found[-1].data += bytes(batch)
            if number % BATCHES_OF_A_SEGMENT == 0:
                found.append(Segment(header.last_offset + 1))
        return found

    def source(self, directory: Path) -> HistorySource:
        source = data_dir(directory, self.segments())
        # Topics of one name that were made one after the other have ids of their own: in the catalogue all are deleted.
        deleted = [{"name": name, "id": topic_id.hex(), "partitions": 1} for topic_id, name in self.names.items()]
        document = {"version": 1, "topics": [], "deleted": deleted}
        (source.data_dir / CATALOGUE_NAME).write_text(json.dumps(document))
        return source


def view_of(record: GroupRecord | None) -> View:
    """Return a state of the history in the form of `Watched.seen`."""
    if record is None or record.is_tombstone or record.type is not GroupType.CONSUMER:
        return None
    members = [
        (each.member_id, each.group_instance_id, each.epoch, each.partitions, each.target) for each in record.members
    ]
    return record.generation, record.state, sorted(members)
