"""The coverage-guided targets, each with its module and the code whose coverage guides it.

A module of this package has `check(data)`, which raises if the code breaks its promise for these bytes; `seeds()`,
valid inputs to begin with; and `mutate(data, chance)`, which changes an input by its grammar.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Target(NamedTuple):
    """A target. Only the modules below `instrumented` report their coverage, because that makes them slow."""

    instrumented: tuple[str, ...]
    max_bytes: int = 1024


_RECORDS: Final = ("protocol.record_batch", "protocol.compression", "protocol.primitives")

TARGETS: Final[dict[str, Target]] = {
    "frames": Target(("protocol.frames",), 512),
    "headers": Target(("protocol.headers", "protocol.primitives"), 256),
    "requests": Target(("protocol.generated", "protocol.primitives")),
    "responses": Target(("protocol.generated", "protocol.primitives", "protocol.headers")),
    "batches": Target(_RECORDS),
    "compression": Target(_RECORDS),
    "columnar": Target(("coordinator.columnar.batches", "coordinator.columnar.kernel", "coordinator.columnar.columns")),
    "offsets_records": Target(("protocol.offsets_records", "protocol.generated.offsets_log", "protocol.primitives")),
    "consumer_protocol": Target(("protocol.consumer", "protocol.generated.consumer_protocol")),
    "templates": Target(("coordinator.server.frame_templates", "coordinator.core.offsets.commit_template"), 512),
    "snapshot": Target(("coordinator.storage.snapshot.file", "coordinator.core.offsets.packed_groups")),
    "segment": Target(("coordinator.storage.log.recovery", "coordinator.storage.log.segment"), 2048),
    "index": Target(("coordinator.storage.log.index",), 512),
    "checkpoint": Target(("coordinator.storage.log.checkpoint", "coordinator.storage.cleaner_checkpoint"), 512),
    "catalogue": Target(("coordinator.core.topics.catalogue", "coordinator.storage.catalogue_store")),
    "producers": Target(("coordinator.storage.producer_checkpoint", "coordinator.core.topics.sequences")),
    "meta": Target(("coordinator.storage.data_dir",), 512),
    "plans": Target(("coordinator.compaction.plan", "coordinator.storage.log.swap"), 2048),
    "marks": Target(("coordinator.storage.history_marks",), 512),
    "events": Target(("coordinator.core.events.model",)),
    "config": Target(("coordinator.config",), 256),
    "http": Target(("coordinator.console.questions", "coordinator.testing.http"), 512),
}
