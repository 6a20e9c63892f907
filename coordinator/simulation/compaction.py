"""A compaction of the offsets log of a simulated node: plan, job, check, staging and swap, with time between them.

The code of each step is that of the product (`coordinator.compaction`). A daemon has processes of their own do the
first ones; here each step is a piece of work of a thread of the node, and appends, faults and ends of the process come
between the steps. Only the merge itself works on real files, in a directory that is removed at once.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from coordinator.compaction import swap_protocol
from coordinator.compaction.column_compaction import compact_partition
from coordinator.compaction.eligibility import Lags, facts_of
from coordinator.compaction.plan import JobDir, Manifest, PartitionPlan, PartitionResult, Plan
from coordinator.compaction.planning import PlanningError, PlanOptions, make_plan
from coordinator.compaction.validate import LateError, RefusedError
from coordinator.storage.log.errors import LogError
from coordinator.storage.log.fs import read_whole, write_atomically
from coordinator.storage.log.swap import no_step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordinator.simulation.disk import LossyFileSystem
    from coordinator.simulation.node import SimulatedNode
    from coordinator.simulation.world import World
    from coordinator.storage.log.swap import AtStep

SEGMENT_BYTES: Final = 8_192  # of an output: some segments become one
EXPECTED: Final = (OSError, LogError, PlanningError, LateError)  # while a disk fails


def begin(world: World, node: SimulatedNode, data_dir: Path, *, retention_ms: int, at_step: AtStep = no_step) -> None:
    """Have a node that is ready compact its offsets log, with the segments that are not full yet.

    `retention_ms`: how long tombstones stay. `at_step` hears of each of `swap_protocol.STEPS` before it is done.
    """
    loop = node.loop
    if loop is None or not node.is_ready:
        return
    steps = _steps(world, node, data_dir, retention_ms, at_step)

    def step() -> None:
        try:
            next(steps)
        except StopIteration:
            return
        except EXPECTED as error:
            world.note(f"{node.name}: a compaction ends: {error}")
        except RefusedError as error:
            if node.rotten:
                world.note(f"{node.name}: the result of a compaction is refused: {error}")
                return
            world.violated(f"{node.name}: the result of a compaction is refused: {error}")
        else:
            loop.in_thread(step)

    loop.in_thread(step)


def _steps(world: World, node: SimulatedNode, data_dir: Path, retention_ms: int, at_step: AtStep) -> Iterator[None]:
    server, runtime, disk, machine = node.server, node.runtime, node.disk, node.machine
    if server is None or runtime is None or machine is None:
        return
    logs, epoch = runtime.offsets_log.logs, server.epoch
    swap_protocol.settle(logs)
    for log in logs.values():
        log.roll()
    yield
    options = PlanOptions(
        Lags(min_cleanable_dirty_ratio=0.0), delete_retention_ms=retention_ms, segment_bytes=SEGMENT_BYTES
    )
    planned = make_plan(
        disk,
        data_dir,
        [facts_of(partition, log) for partition, log in logs.items()],
        epoch=epoch,
        now_ms=machine.wall_ms(),
        options=options,
        plan_id=f"19700101T000000-{world.steps:08x}",
        at_step=at_step,
    )
    if planned.plan is None:
        return
    yield
    plan = planned.plan
    job = JobDir.of(data_dir, plan.id)
    results = []
    for part in plan.partitions:
        results.append(_compacted(disk, job, plan, part))
        yield
    manifest = Manifest(plan.id, plan.epoch, plan.sha256, "simulation", "plain", tuple(results))
    write_atomically(disk, job.manifest, manifest.to_bytes())
    yield
    accepted = swap_protocol.accept(disk, data_dir, plan.id, epoch=epoch, now_ms=machine.wall_ms())
    yield
    interval = next(iter(logs.values())).config.index_interval_bytes
    swap_protocol.stage(disk, data_dir, accepted, accepted.results, index_interval_bytes=interval, at_step=at_step)
    yield
    outcome = swap_protocol.swap(disk, data_dir, accepted.plan, accepted.partitions, logs, at_step=at_step)
    yield
    world.note(f"{node.name}: {swap_protocol.conclude(disk, data_dir, accepted, outcome, at_step)}")


def _compacted(disk: LossyFileSystem, job: JobDir, plan: Plan, part: PartitionPlan) -> PartitionResult:
    """Compact one partition, and put the outputs on the disk of the node."""
    with tempfile.TemporaryDirectory() as name:
        inputs, out = Path(name) / "in", Path(name) / str(part.partition)
        inputs.mkdir()
        out.mkdir()
        for one in part.inputs:
            (inputs / one.name).write_bytes(read_whole(disk, job.in_dir(part.partition) / one.name))
        result = compact_partition(plan, part, inputs, out)
        contents = [(Path(name) / each.file).read_bytes() for each in result.outputs]
    # The names that the job chooses are random.
    outputs = tuple(replace(each, file=f"{each.file.rpartition('.')[0]}.{0:016x}") for each in result.outputs)
    for path in (job.out, job.out_dir(part.partition)):
        if not disk.is_dir(path):
            disk.mkdir(path)
            disk.fsync_dir(path.parent)
    for output, content in zip(outputs, contents, strict=True):
        file = disk.open(job.output(output), create=True)
        file.pwrite(content, 0)
        file.fsync()
        file.close()
    disk.fsync_dir(job.out_dir(part.partition))
    return replace(result, outputs=outputs)
