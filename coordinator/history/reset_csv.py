"""The CSV that `kafka-consumer-groups --reset-offsets --from-file` reads, and that its `--export` writes.

One line for each partition, no header: `topic,partition,offset` where the tool is given one group with --group, and
`group,topic,partition,offset` where it is given several, or --all-groups. The tool cuts the file into lines before it
parses any of them, so a line break within a name cannot be written at all; Kafka's topic names have none, a group id
might. Values with a comma or a quote are quoted, quotes doubled.
Source: Kafka's ConsumerGroupCommand.parseResetPlan and CsvUtils (Jackson's CsvMapper).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping

from coordinator.history.commits import TopicPartition


class UnwritableError(ValueError):
    """A name that the format cannot hold. One sentence."""


def one_group(offsets: Mapping[TopicPartition, int]) -> str:
    """For `--group GROUP --reset-offsets --from-file`."""
    return _lines((topic, partition, offset) for (topic, partition), offset in sorted(offsets.items()))


def several_groups(offsets: Mapping[str, Mapping[TopicPartition, int]]) -> str:
    """For `--group A --group B …` or `--all-groups`. The tool takes this form for a single --group too."""
    return _lines(
        (group, topic, partition, offset)
        for group, own in sorted(offsets.items())
        for (topic, partition), offset in sorted(own.items())
    )


def _lines(rows: Iterable[tuple[str | int, ...]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        for value in row:
            if isinstance(value, str) and ("\n" in value or "\r" in value):
                raise UnwritableError(f"{value!r} has a line break, which the reset tool's CSV cannot hold")
        writer.writerow(row)
    return text.getvalue()
