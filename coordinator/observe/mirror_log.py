"""A log whose batches keep the offsets that another cluster gave them.

It is `coordinator.storage.log` with one difference: offsets may have gaps between batches, where the cluster's own
compaction or retention removed records. Files, indexes, roll rules and recovery are the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from coordinator.storage.log.log import Log
from coordinator.storage.log.segment import Entry, Segment


class MirrorLog(Log):
    """A log of batches with given offsets. One writer thread, as for any log."""

    def take(self, entries: Sequence[Entry]) -> None:
        """Append these batches, whose offsets grow and lie at or beyond the end. Durable after `flush`."""
        run: list[Entry] = []
        due = self.log_end_offset
        for entry in entries:
            base_offset = int.from_bytes(entry.batch[:8], "big")
            if base_offset > due:
                if run:
                    self.append_all(run)
                    run = []
                self._leave_gap(base_offset)
            run.append(entry)
            due = entry.last_offset + 1
        if run:
            self.append_all(run)

    def _leave_gap(self, offset: int) -> None:
        """Let the batch that is appended next have this offset."""
        if self.segments[-1].size_bytes:
            self.log_end_offset = offset
        else:
            self.skip_to(offset)

    def skip_to(self, offset: int) -> None:
        """Move the end of the log forward, durably: the batches up to this offset do not exist any more.

        A segment that begins there keeps the offset. It replaces an empty newest segment, whose indexes could not hold
        offsets that are more than 2**31 away.
        """
        if offset <= self.log_end_offset:
            return
        newest = self.segments[-1]
        with self._suspect_if_it_fails():
            self.log_end_offset = offset
            if newest.size_bytes:
                self._roll()
                self.acknowledge()
                return
            segment = Segment.create(self.fs, self.directory, offset, self.config.index_interval_bytes)
            self.fs.fsync_dir(self.directory)
            self.segments = (*self.segments[:-1], segment)
            self.acknowledge()
            self._synced_position = 0
            self._write_checkpoint()  # first, because it may list the segment that is removed now
            newest.delete()
            newest.file.close()

    def acknowledge(self) -> None:
        """Let readers and compaction see everything that was flushed."""
        self.high_watermark = self._synced_offset = self.log_end_offset

    def sync(self) -> None:
        """Flush, and acknowledge what was flushed."""
        self.flush()
        self.high_watermark = self.log_end_offset

    @property
    def is_synced(self) -> bool:
        """True if there is nothing to flush."""
        return self.high_watermark == self.log_end_offset and self.synced_offset == self.log_end_offset
