"""Changes of the catalogue, one after another: each is durable before it takes effect.

A change begins when the one before it has ended. It is checked against the catalogue of that moment, and returns the
document to write and the directories to create or remove. `succeeded` or `failed` follows when the executor is done;
only then does memory change and the response leave. A change that was half done in a crash therefore has no response,
and the document on disk tells whether it happened: the next start creates missing directories and removes those of
deleted topics.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from coordinator.core.topics.effects import ChangeCatalogue, Changed, ReadFailure
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from coordinator.config.config import Config
    from coordinator.core.cluster import Cluster
    from coordinator.core.topics.catalogue import Catalogue, Topic
    from coordinator.core.topics.effects import Outbox
    from coordinator.core.topics.fetch import Fetching
    from coordinator.core.topics.group_configs import GroupConfigs
    from coordinator.core.topics.partition import Partition
    from coordinator.core.topics.produce import Producing


@dataclass(slots=True, eq=False)
class Parts:
    """The parts of the embedded topics that a change reads and modifies."""

    config: Config
    cluster: Cluster
    catalogue: Catalogue
    producing: Producing
    fetching: Fetching
    new_topic_id: Callable[[], bytes]

    def plan(
        self,
        *,
        add: Iterable[Topic] = (),
        without: Iterable[Topic] = (),
        partitions: Mapping[str, int] | None = None,
        assigned: Mapping[str, Mapping[int, int]] | None = None,
        configs: Mapping[str, Mapping[str, str]] | None = None,
        node_configs: Mapping[str, Mapping[str, str]] | None = None,
        group_configs: GroupConfigs | None = None,
        client_metrics: GroupConfigs | None = None,
        create: Iterable[Partition] = (),
        lineage: str | None = None,
        revision: int | None = None,
        adopts: bool = False,
    ) -> ChangeCatalogue:
        """Return the job that makes a change durable. By default it is the next revision of this catalogue."""
        add, without = tuple(add), tuple(without)
        catalogue = self.catalogue
        created = (*(partition for topic in add for partition in topic.partitions), *create)
        removed = (partition for topic in without for partition in topic.partitions)
        lineage = catalogue.lineage if lineage is None else lineage
        revision = catalogue.revision + 1 if revision is None else revision
        return ChangeCatalogue(
            document=catalogue.document(
                add=add,
                without=without,
                partitions=partitions,
                assigned=assigned,
                configs=configs,
                node_configs=node_configs,
                group_configs=group_configs,
                client_metrics=client_metrics,
                lineage=lineage,
                revision=revision,
            ),
            previous=catalogue.document(),
            create=tuple(partition for partition in created if partition.is_local),
            remove=tuple(partition for partition in removed if partition.is_local),
            lineage=lineage,
            revision=revision,
            adopts=adopts,
        )


class CatalogueChange(Protocol):
    """One request for a change."""

    def begin(self, parts: Parts, out: Outbox) -> ChangeCatalogue | None:
        """Check, and return the job that makes the change durable; None if there is none and the response is sent."""

    def succeeded(self, parts: Parts, changed: Changed, out: Outbox) -> None:
        """Apply the durable change, and respond."""

    def failed(self, parts: Parts, error: ErrorCode, out: Outbox) -> None:
        """Respond with an error: the change was not made."""


class ChangeQueue:
    """Runs changes one at a time, and none while `must_wait` returns True: then `go_on` is to be called later."""

    def __init__(self, parts: Parts, on_changed: Callable[[Outbox], None] = lambda out: None) -> None:
        self._parts = parts
        self._on_changed = on_changed
        self._waiting: deque[CatalogueChange] = deque()
        self._current: tuple[CatalogueChange, ChangeCatalogue] | None = None
        self.must_wait: Callable[[], bool] = lambda: False
        self.is_held = False

    def __len__(self) -> int:
        return len(self._waiting) + (self._current is not None)

    def submit(self, change: CatalogueChange, out: Outbox) -> None:
        """Run `change` after those submitted before it."""
        self._waiting.append(change)
        self._run_next(out)

    def done(self, outcome: Changed | ReadFailure, out: Outbox) -> None:
        """End the running change: the executor has performed its `ChangeCatalogue`."""
        current, self._current = self._current, None
        if current is not None:
            change, job = current
            if isinstance(outcome, ReadFailure):
                change.failed(self._parts, outcome.error, out)
            else:
                for partition, opened in outcome.opened.items():
                    partition.opened(opened)
                self._parts.catalogue.lineage, self._parts.catalogue.revision = job.lineage, job.revision
                change.succeeded(self._parts, outcome, out)
                self._on_changed(out)
        self._run_next(out)

    def go_on(self, out: Outbox) -> None:
        """Run the changes that were held, if they need not wait any longer."""
        self.is_held = False
        self._run_next(out)

    def _run_next(self, out: Outbox) -> None:
        while self._current is None and self._waiting:
            if self.must_wait():
                self.is_held = True
                return
            change = self._waiting.popleft()
            job = change.begin(self._parts, out)
            if job is not None:
                self._current = change, job
                out.do(job)
