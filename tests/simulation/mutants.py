"""Mutants: one defect each, as a change of the source, which the simulation must find.

`install` has Python compile the changed source in place of the file's, in a process of its own:

    python -m tests.simulation.mutants            all, two at a time
    python -m tests.simulation.mutants NAME ...   some
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import CodeType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
STEPS = 20_000  # within which each must be found
STEPS_A_SEED = 2_500
FOUND, NOT_FOUND = 0, 3  # exit codes of the process of one mutant


class Change(NamedTuple):
    """A change of a file: the old text becomes the new one."""

    path: str
    old: str
    new: str

    @property
    def module(self) -> str:
        return self.path.removesuffix(".py").replace("/", ".")

    def source(self) -> str:
        """Return the changed source. Raises ValueError if the old text is not there exactly once."""
        text = (ROOT / self.path).read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise ValueError(f"{self.path} has the text {text.count(self.old)} times: {self.old!r}")
        return text.replace(self.old, self.new)


class Mutant(NamedTuple):
    """A defect: the old text of a file becomes the new one. `faults`: the only kinds under which it is hunted.

    `store`: the world in which it is hunted. `also`: a change elsewhere that belongs to the defect.
    """

    path: str
    old: str
    new: str
    faults: tuple[str, ...] = ()  # of the worlds in which it is hunted; empty: all
    seed: int = 1  # with which the hunt begins
    store: str = "disks"
    also: Change | None = None

    @property
    def changes(self) -> list[Change]:
        changes = [Change(self.path, self.old, self.new)]
        return changes if self.also is None else [*changes, self.also]


GROUP = "coordinator/core/group/"
OFFSETS = "coordinator/core/offsets/"
TRANSACTIONS = "coordinator/core/transactions/"
LOG = "coordinator/storage/log/"
FREEZES = ("pause_in_call", "pause_node")
LEASES = ("pause_in_call", "pause_node", "slow_store", "cut_store")
CALLS = ("pause_in_call", "kill_in_call", "cut_store", "spoil_store_calls")
SLOW_CALLS = ("pause_in_call", "slow_store", "cut_store", "spoil_store_calls")
SNAPSHOTS = ("spoil_store_calls", "kill_node", "pause_node")
TRIMS = ("spoil_store_calls", "kill_in_call", "kill_node")
FLUSHER = "coordinator/storage/store_flusher.py"
CLAIMED = "coordinator/server/claimed_partitions.py"
ROT = ("rot_disk", "kill_node")
SWAPS = ("lose_power_in_compaction", "compact_node")
TWINS = ("double_copy", "kill_copy", "kill_node")
FAILED_SWAPS = ("compact_node", "fail_disk", "kill_node")
WRITES = ("fail_disk", "fail_disk", "lose_power")
MUTANTS = {
    # durability
    "log-skips-its-flush": Mutant(
        LOG + "log.py", "                self.segments[-1].file.fdatasync()", "                pass"
    ),
    "roll-does-not-sync": Mutant(
        LOG + "log.py", "        newest.finish()\n", "        newest.file.size()\n", ("lose_power", "lose_power_within")
    ),
    "commit-is-answered-early": Mutant(
        OFFSETS + "commit.py",
        "    context.append(target, tuple(records), then, producer)",
        "    context.append(target, tuple(records), then, producer)\n"
        "    then.ticket = None\n"
        "    context.reply(ticket, build_response(response_types, outcomes))",
    ),
    "commit-is-applied-before-it-is-durable": Mutant(
        OFFSETS + "commit.py",
        "    context.append(target, tuple(records), then, producer)",
        "    context.append(target, tuple(records), then, producer)\n    then.apply(target)",
    ),
    "commit-is-not-applied": Mutant(OFFSETS + "commit.py", "            self.apply(group)\n", "            pass\n"),
    "failed-appends-count-as-durable": Mutant(
        LOG + "flusher.py",
        "            else:\n                self._fail(lane, error, outcome)\n        return durable",
        "            else:\n                durable.append(lane)\n        return durable",
        WRITES,
    ),
    "failed-writes-are-not-cut-back": Mutant(
        LOG + "log.py",
        "        self._remove_from(self.high_watermark)\n        newest = self.segments[-1]\n        position = min(",
        "        newest = self.segments[-1]\n        position = min(",
        WRITES,
    ),
    "failed-appends-are-answered-with-success": Mutant(
        OFFSETS + "commit.py",
        "        self.abandoned(client_error(error), context)\n        group = self.group",
        "        self.abandoned(ErrorCode.NONE, context)\n        group = self.group",
    ),
    "durable-appends-are-not-answered": Mutant(
        OFFSETS + "commit.py",
        "        if self.ticket is not None:\n            context.replies.append",
        "        if self.ticket is not None and len(self.outcomes) != 2:\n            context.replies.append",
    ),
    "directory-is-not-synced-after-a-roll": Mutant(
        LOG + "log.py",
        "self.config.index_interval_bytes)\n        self.fs.fsync_dir(self.directory)\n        self.segments",
        "self.config.index_interval_bytes)\n        self.segments",
        ("lose_power", "lose_power_within"),
    ),
    "offsets-go-on-after-a-failure": Mutant(
        "coordinator/storage/offsets_log.py", "        part.next_offset = from_offset\n", ""
    ),
    # commits and deletions
    "offset-deletion-forgets-its-record": Mutant(
        OFFSETS + "deletion.py",
        "    context.append(group, offset_tombstones(group_id, then.positions), then)",
        "    context.append(group, offset_tombstones(group_id, then.positions[:0]), then)",
    ),
    "deleted-group-keeps-offsets-in-the-log": Mutant(
        OFFSETS + "deletion.py",
        "    records = (*offset_tombstones(group.group_id, positions), *damaged, *group.tombstones())\n",
        "    records = (*damaged, *group.tombstones())\n",
    ),
    "commit-of-an-old-generation-is-taken": Mutant(
        GROUP + "checks.py",
        "        if generation != group.generation:\n            return ErrorCode.ILLEGAL_GENERATION\n    elif",
        "        if generation > group.generation:\n            return ErrorCode.ILLEGAL_GENERATION\n    elif",
    ),
    "commit-of-an-unknown-member-is-taken": Mutant(
        GROUP + "checks.py",
        '    if generation >= 0 or member_id != "" or group_instance_id is not None:\n        error = check_member',
        "    if group_instance_id is not None:\n        error = check_member",
    ),
    "replay-takes-the-older-record": Mutant(
        OFFSETS + "store.py",
        "        partitions[partition] = committed\n",
        "        partitions.setdefault(partition, committed)\n",
    ),
    # groups and timers
    "generation-does-not-advance": Mutant(
        GROUP + "rebalance.py", "    group.advance_generation()\n", "    group.generation = max(group.generation, 1)\n"
    ),
    "sync-is-answered-before-the-record": Mutant(
        GROUP + "sync.py",
        "        context.append(group, (group_record(group, assignments),), "
        "StoreAssignment(group.generation, assignments))",
        "        StoreAssignment.group = group\n"
        "        early = StoreAssignment(group.generation, assignments)\n"
        "        early.group = group\n"
        "        early.durable(context)\n"
        "        context.append(group, (group_record(group, assignments),), StoreAssignment(-1, assignments))",
    ),
    "group-record-lacks-the-assignment": Mutant(
        GROUP + "sync.py",
        "(group_record(group, assignments),), StoreAssignment(group.generation",
        "(group_record(group),), StoreAssignment(group.generation",
    ),
    "session-is-not-started-with-the-generation": Mutant(
        GROUP + "rebalance.py",
        "        member.is_new = False\n        restart_session(group, member, member.session_timeout_ms, context)\n",
        "        member.is_new = False\n",
        seed=11,
    ),
    "sessions-are-not-started-after-loading": Mutant(
        "coordinator/core/loading.py",
        "                restart_session(group, member, member.session_timeout_ms, context)\n            yield",
        "                pass\n            yield",
    ),
    "session-is-not-restarted-with-the-assignment": Mutant(
        GROUP + "sync.py",
        "                member.parked_sync = None\n                restart_session(group, member, "
        "member.session_timeout_ms, context)\n",
        "                member.parked_sync = None\n",
        seed=7,
    ),
    "join-deadline-is-forgotten": Mutant(
        GROUP + "rebalance.py",
        "        context.timers.await_joins(group, context.now_ms + "
        "group.rebalance_timeout_ms, context)\n\n\ndef initial",
        "        context.timers.check_joins(group, context)\n\n\ndef initial",
    ),
    "sync-deadline-is-forgotten": Mutant(
        GROUP + "rebalance.py",
        "    context.timers.await_syncs(group, context.now_ms + group.rebalance_timeout_ms)\n",
        "",
    ),
    "answers-leave-in-another-order": Mutant(
        "coordinator/server/connection.py",
        "        while slots and (ready := slots[0].answer) is not None:\n            slots.popleft()\n",
        "        ready = data\n        if slot in slots:\n            slots.remove(slot)\n",
    ),
    "leaving-starts-no-rebalance": Mutant(
        GROUP + "leave.py",
        "        prepare_rebalance(group, leaving[0], context, leaving[1:])\n",
        "        pass\n",
    ),
    "parked-syncs-are-forgotten-in-a-rebalance": Mutant(
        GROUP + "rebalance.py",
        '            member.assignment = b""\n            if refuse_parked_sync(member, '
        "ErrorCode.REBALANCE_IN_PROGRESS, context):\n",
        '            member.assignment = b""\n            if member.parked_sync is not None:\n',
    ),
    "old-assignment-is-handed-out-again": Mutant(
        GROUP + "sync.py",
        '            member.assignment = self.assignments.get(member.member_id, b"")\n',
        '            member.assignment = member.assignment or self.assignments.get(member.member_id, b"")\n',
    ),
    "static-member-is-not-fenced": Mutant(
        GROUP + "checks.py",
        "        if owner != member_id:\n            return ErrorCode.FENCED_INSTANCE_ID\n",
        "        if owner != member_id:\n            return NONE\n",
        TWINS,
    ),
    "static-member-has-no-place-in-a-full-group": Mutant(
        GROUP + "join.py",
        "has_room(group, member_id or former_id, ",
        "has_room(group, member_id, ",
        TWINS,
        seed=4,
    ),
    "replaced-static-member-is-not-recorded": Mutant(
        GROUP + "static_member.py",
        "        context.append(group, (group_record(group),), then)\n    else",
        "        then.group = group\n        then.durable(context)\n    else",
        TWINS,
    ),
    "expired-session-keeps-its-member": Mutant(
        GROUP + "delayed_operations.py", "        expire_session(self.group, self.member, context)\n", "        pass\n"
    ),
    "pending-member-id-never-expires": Mutant(
        GROUP + "delayed_operations.py",
        "        expire_pending(self.group, self.member_id, context)\n",
        "        pass\n",
    ),
    "heartbeat-of-an-old-generation-is-good": Mutant(
        GROUP + "checks.py",
        "    if generation != group.generation:\n        return "
        "ErrorCode.ILLEGAL_GENERATION\n    return HEARTBEAT_VERDICT",
        "    return HEARTBEAT_VERDICT",
    ),
    "emptied-group-is-not-recorded": Mutant(
        GROUP + "rebalance.py",
        "    context.append(group, (empty_group_record(group),), EmptyGroup())\n",
        "    EmptyGroup().abandoned(ErrorCode.NONE, context)\n",
    ),
    "join-that-another-replaces-is-not-answered": Mutant(
        GROUP + "rejoin.py", "    if replaced is not None:\n", "    if replaced is ticket:\n", seed=51
    ),
    # topics
    "duplicate-batch-is-written-again": Mutant(
        "coordinator/core/topics/sequences.py",
        "                if batch.first_sequence == first and batch.last_sequence == last:\n",
        "                if batch.first_sequence == first and batch.last_sequence == last + (1 << 31):\n",
    ),
    "first-batch-that-failed-is-not-due": Mutant(
        "coordinator/core/topics/sequences.py",
        "            if producer is not None:\n                producer.batches.clear()\n",
        "            if producer is not None:\n                self.forget(undo.producer_id)\n",
        seed=307,
    ),
    "producers-are-forgotten-at-a-start": Mutant(
        "coordinator/core/topics/sequences.py",
        "        if header.producer_id >= 0 and header.base_sequence >= 0 and not header.is_control:\n",
        "        if header.producer_id < 0 and header.base_sequence >= 0 and not header.is_control:\n",
    ),
    # recovery and snapshots
    "batch-behind-a-snapshot-is-skipped": Mutant(
        "coordinator/storage/snapshot/loading.py",
        "            self._replay.add_batch(header, batch)\n",
        "            if self._base is None or header.base_offset % 5:\n"
        "                self._replay.add_batch(header, batch)\n",
    ),
    "tombstone-without-its-record-is-refused": Mutant(
        OFFSETS + "replay.py",
        "        found = self.offsets.get(key)\n        if self._gone or",
        "        found = self.offsets.get(key) if self._base is not None else self.offsets[key]\n"
        "        if self._gone or",
        seed=8,
    ),
    "loading-keeps-every-batch": Mutant(
        OFFSETS + "replay.py",
        "            self.records += header.record_count\n",
        "            self.records += header.record_count\n            self._removed.add(batch)\n",
    ),
    "loaded-generation-is-one-less": Mutant(
        "coordinator/core/loading.py",
        "        by_id = {group.group_id: group for group in groups}\n",
        "        by_id = {group.group_id: group for group in groups}\n"
        "        for group in by_id.values():\n"
        "            group.generation = max(group.generation - 1, 0)\n",
    ),
    # bit rot
    "checksum-of-a-batch-is-not-checked": Mutant(
        LOG + "segment.py",
        "    if google_crc32c.value(buffer[at + _CRC_FROM : at + size]) != crc:\n",
        "    if last_delta > 1 << 40:\n",
        ROT,
    ),
    "log-ends-at-a-damaged-batch": Mutant(
        LOG + "segment.py",
        "            if fault:\n                raise CorruptLogError(self.path, found, fault)\n            base_",
        "            if fault:\n                return\n            base_",
        ROT,
        seed=39,
    ),
    "damage-below-the-recovery-point-is-cut": Mutant(
        LOG + "recovery.py",
        "    lost = [one for one in known if newest.next_offset < one.offset]\n",
        "    lost = [one for one in known if newest.next_offset < one.offset and not damage]\n",
        ROT,
    ),
    "damaged-end-of-a-closed-segment-is-accepted": Mutant(
        LOG + "recovery.py",
        "        if damage:\n            raise CorruptLogError(\n                segment.path,\n",
        "        if damage and segment.next_offset == successor.base_offset:\n"
        "            raise CorruptLogError(\n                segment.path,\n",
        ROT,
    ),
    "damaged-index-is-not-built-again": Mutant(
        LOG + "recovery.py",
        "        damage = segment.scan()\n        report.checked_bytes += segment.size_bytes\n        if damage:\n",
        "        segment.scan()\n        damage = Damage(0, 'its index is damaged')\n        if damage:\n",
        ROT,
        seed=10,
    ),
    # compaction
    "swap-is-committed-without-a-sync": Mutant(
        LOG + "swap.py",
        "    at_step(SwapStep.COMMIT_SYNC)\n    fs.fsync_dir(directory)\n",
        "    at_step(SwapStep.COMMIT_SYNC)\n",
        SWAPS,
        seed=70,
    ),
    "staged-names-are-not-synced": Mutant(
        LOG + "staging.py",
        "        at_step(SwapStep.STAGE_SYNC_NAMES)\n        fs.fsync_dir(directory)\n",
        "        at_step(SwapStep.STAGE_SYNC_NAMES)\n",
        SWAPS,
        seed=124,
    ),
    "staged-copy-is-not-synced": Mutant(
        LOG + "staging.py",
        "            at_step(SwapStep.STAGE_SYNC)\n            new.fsync()\n",
        "            at_step(SwapStep.STAGE_SYNC)\n",
        SWAPS,
    ),
    "start-does-not-finish-a-swap": Mutant(
        LOG + "redo.py",
        "    return any(name.startswith(INTENT_NAME) or (",
        "    return any(name == INTENT_NAME + '?' or (",
        SWAPS,
        seed=9,
    ),
    "swap-is-finished-before-it-is-applied": Mutant(
        LOG + "log.py",
        "            self._apply_swap(self._swap, at_step)\n            self._write_checkpoint()\n",
        "            self._write_checkpoint()\n",
        FAILED_SWAPS,
        seed=32,
    ),
    "swapped-segments-are-not-listed": Mutant(
        LOG + "log.py",
        "            self._apply_swap(self._swap, at_step)\n            self._write_checkpoint()\n",
        "            self._apply_swap(self._swap, at_step)\n",
        SWAPS,
    ),
    "compacted-log-is-replayed-on-a-snapshot": Mutant(
        "coordinator/storage/snapshot/loading.py",
        "            if header.base_offset != self._due or header.record_count != header.last_offset_delta + 1:\n",
        "            if header.base_offset < self._due:\n",
        ("compact_node", "kill_node"),
        seed=41,
    ),
    "checksum-of-a-snapshot-is-not-checked": Mutant(
        "coordinator/storage/snapshot/file.py",
        " <= size or _crc_of(data) != crc:\n",
        " <= size:\n",
        ROT,
        seed=7,
    ),
    "checksum-of-a-snapshots-header-is-not-checked": Mutant(
        "coordinator/storage/snapshot/file.py",
        "    if google_crc32c.value(header) != _CRC.unpack_from(data, _HEADER.size)[0]:\n",
        "    if not header:\n",
        ROT,
        seed=9,
    ),
    "compaction-keeps-the-newest-record-of-a-segment-only": Mutant(
        "coordinator/compaction/column_compaction.py",
        "(segment.base_offset, segment.next_offset)).tolist()\n",
        "(segment.base_offset, segment.next_offset)).tolist()\n            low = max(low, high - 1)\n",
        SWAPS,
    ),
    # transactions
    "markers-are-not-written-again-after-a-crash": Mutant(
        TRANSACTIONS + "coordinator.py",
        "            elif entry.current.state in PREPARED:\n                self._begin_markers(entry, event)\n",
        "            elif entry.current.state in PREPARED:\n                pass\n",
        store="transactions",
    ),
    "transaction-is-complete-without-some-markers": Mutant(
        TRANSACTIONS + "coordinator.py",
        "            if entry.remaining:\n                self._answer_end(entry, event)\n",
        "            if not outcomes:\n                self._answer_end(entry, event)\n",
        ("kill_node", "fail_disk"),
        store="transactions",
    ),
    "fence-keeps-the-epoch": Mutant(
        TRANSACTIONS + "metadata.py",
        "            producer_epoch=self.producer_epoch + (not self.has_failed_fence),\n",
        "            producer_epoch=self.producer_epoch,\n",
        store="transactions",
    ),
    "abort-commits-offsets": Mutant(
        OFFSETS + "markers.py",
        "    is_commit = marker.transaction_result\n",
        "    is_commit = True\n",
        store="transactions",
    ),
    # a store that nodes share
    "topic-that-is-not-known-yet-is-taken-for-deleted": Mutant(
        "coordinator/server/transactions.py",
        "(link is not None and link.current_as_of_ms > existed_ms)\n",
        "link is not None\n",
        seed=2,
        store="shared-transactions",
    ),
    "append-without-an-epoch-check": Mutant(
        "coordinator/storage/memory_store.py",
        "        if stored.owned.epoch != claim.epoch:\n            return AppendFenced()\n",
        "        if stored.owned.epoch < claim.epoch:\n            return AppendFenced()\n",
        CALLS,
        seed=53,
        store="shared",
    ),
    "snapshot-is-saved-without-a-check-of-epoch-and-offset": Mutant(
        "coordinator/storage/memory_store.py",
        "        stored = self._claimed(claim)\n"
        "        if stored.snapshot is None or stored.snapshot.next_offset <= snapshot",
        "        stored = self._partitions[claim.partition]\n        if stored.snapshot is None or 0 <= snapshot",
        SNAPSHOTS,
        seed=37,
        store="shared",
    ),
    "trim-before-the-snapshot-is-saved": Mutant(
        "coordinator/storage/snapshot/store_keeper.py",
        "        await self._store.save_snapshot(claim, end_offset, pieces)\n"
        "        try:\n"
        "            await self._store.trim(claim, end_offset, self._config.ha_log_keep_ms)\n",
        "        await self._store.trim(claim, end_offset, self._config.ha_log_keep_ms)\n"
        "        try:\n"
        "            await self._store.save_snapshot(claim, end_offset, pieces)\n",
        TRIMS,
        seed=3,
        store="shared",
        also=Change(
            "coordinator/storage/memory_store.py",
            "        covered = min(below, stored.snapshot.next_offset if stored.snapshot is not None else 0)\n",
            "        covered = below\n",
        ),
    ),
    "unknown-append-counts-as-failed": Mutant(
        FLUSHER,
        "            elif isinstance(outcome, AppendUnknown):\n                LOG",
        "            elif isinstance(outcome, AppendUnknown):\n"
        "                self._known(lane, entries, counted, AppendFailed(outcome.error), durable)\n"
        "            elif isinstance(outcome, AppendUnknown):\n                LOG",
        CALLS,
        seed=8,
        store="shared",
    ),
    "unknown-append-counts-as-durable": Mutant(
        FLUSHER,
        "            elif isinstance(outcome, AppendUnknown):\n                LOG",
        "            elif isinstance(outcome, AppendUnknown):\n"
        "                self._known(lane, entries, counted, AppendDurable(entries[-1].last_offset + 1), durable)\n"
        "            elif isinstance(outcome, AppendUnknown):\n                LOG",
        seed=31,
        store="shared",
    ),
    "answers-without-a-lease-check": Mutant(
        CLAIMED,
        "        return self.membership.lease.holds()\n\n"
        "    def check(self) -> None:\n        if not self.membership.lease.holds():\n",
        "        return True\n\n    def check(self) -> None:\n        if not self.holds():\n",
        LEASES,
        seed=10,
        store="shared",
    ),
    "heartbeats-after-a-freeze-without-a-lease-check": Mutant(
        "coordinator/server/connection.py",
        "        if self._lease is not None:\n            self._lease.check()\n        heartbeat = self._heartbeat\n",
        "        heartbeat = self._heartbeat\n",
        FREEZES,
        seed=579,
        store="shared",
    ),
    "lease-counts-from-the-answer": Mutant(
        "coordinator/membership/membership.py",
        "        self.lease.renewed(sent_s)\n",
        "        self.lease.renewed(self._clock())\n",
        LEASES,
        seed=2,
        store="shared",
    ),
    "given-up-partition-is-not-unloaded": Mutant(
        CLAIMED,
        "        self.runtime.give_up(partition)\n",
        "        pass\n",
        store="shared",
    ),
    "load-of-a-former-claim-is-installed": Mutant(
        "coordinator/server/runtime.py",
        "        if self._loads.get(partition) is not load:\n            return\n        del self._loads[partition]\n",
        "        self._loads.pop(partition, None)\n",
        SLOW_CALLS,
        seed=7,
        store="shared",
        also=Change(
            "coordinator/membership/claims.py",
            "        task = self._tasks[partition] = asyncio.get_running_loop().create_task(work)\n",
            "        loop = asyncio.get_running_loop()\n"
            "        task = self._tasks[partition] = loop.create_task(asyncio.wait((loop.create_task(work),)))\n",
        ),
    ),
}

# Defects that Kafka had, each as a mutant. The seed of the mutant is a world in which Kafka's defect would have shown.
NAMED = {
    "KAFKA-12890": "sync-deadline-is-forgotten",  # members that send heartbeats and no SyncGroup hold a group for ever
    "KAFKA-19716": "loading-keeps-every-batch",  # loading a long log that was not compacted takes all memory
    "KAFKA-19862": "tombstone-without-its-record-is-refused",  # compaction left it, and loading fails
    "KAFKA-20442": "emptied-group-is-not-recorded",  # all members are gone, and only memory knows
    "KAFKA-20601": "static-member-has-no-place-in-a-full-group",
    "KAFKA-20634": "failed-appends-count-as-durable",  # a commit is acknowledged whose record was cut off
    "KAFKA-20938": "join-that-another-replaces-is-not-answered",
}


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, change: Change) -> None:
        super().__init__(change.module, str(ROOT / change.path))
        self._change = change

    def get_code(self, fullname: str) -> CodeType:
        code: CodeType = compile(self._change.source(), str(ROOT / self._change.path), "exec", dont_inherit=True)
        return code


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        for change in self._mutant.changes:
            if fullname == change.module:
                return importlib.machinery.ModuleSpec(fullname, _Loader(change), origin=str(ROOT / change.path))
        return None


def install(name: str) -> None:
    """Have this process run a mutant. No module of the product may have been imported."""
    if any(each.startswith("coordinator.") for each in sys.modules):
        raise RuntimeError("modules of the product were imported before the mutant was installed")
    sys.meta_path.insert(0, _Finder(MUTANTS[name]))


def hunt(name: str) -> str:
    """Simulate a mutant in this process. Return how it was found; empty if it was not, within STEPS."""
    install(name)
    from coordinator.simulation.run import simulate

    steps = 0
    seed = MUTANTS[name].seed
    while steps < STEPS:
        outcome = simulate(seed, STEPS_A_SEED, kinds=MUTANTS[name].faults, store=MUTANTS[name].store)
        steps += outcome.steps
        if outcome.violation and steps <= STEPS:
            return f"seed {seed}, step {steps}: {' '.join(outcome.violation.split())}"
        seed += 1
    return ""


def hunt_apart(name: str) -> str:
    """Hunt a mutant in a process of its own. Return its line of output."""
    command = [sys.executable, "-m", "tests.simulation.mutants", "--one", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in (FOUND, NOT_FOUND):
        raise RuntimeError(f"{name} cannot be simulated:\n{done.stderr}")
    return done.stdout.strip()


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--one"]:
        found = hunt(arguments[1])
        print(found)
        return FOUND if found else NOT_FOUND
    names = arguments or list(MUTANTS)
    missed = []
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for name, found in zip(names, pool.map(hunt_apart, names), strict=True):
            print(f"{'caught' if found else 'MISSED':8}{name}: {found}"[:220], flush=True)
            if not found:
                missed.append(name)
    print(f"{len(names) - len(missed)} of {len(names)} mutants caught")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
