"""The CSV format of `kafka-consumer-groups --reset-offsets`, for `--from-file` and `--export`.

One line for each partition, no header: `topic,partition,offset` where the tool is given one group with --group, and
`group,topic,partition,offset` where it is given several, or --all-groups. The tool splits the file into lines before it
parses them, so a name with a line break cannot be written; a topic name has none, a group id may. Values with a comma
or a quote are quoted, and quotes are doubled.
Source: Kafka's ConsumerGroupCommand.parseResetPlan and CsvUtils (Jackson's CsvMapper).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coordinator.history.commits import TopicPartition


class UnwritableError(ValueError):
    """The format cannot hold a name. The message is one sentence."""


def one_group(offsets: Mapping[TopicPartition, int]) -> str:
    """Return the file for `--group GROUP --reset-offsets --from-file`."""
    return _lines((topic, partition, offset) for (topic, partition), offset in sorted(offsets.items()))


def several_groups(offsets: Mapping[str, Mapping[TopicPartition, int]]) -> str:
    """Return the file for `--group A --group B …` or `--all-groups`. The tool takes it for a single --group too."""
    return _lines(
        (group, topic, partition, offset)
        for group, own in sorted(offsets.items())
        for (topic, partition), offset in sorted(own.items())
    )


class UnreadableError(ValueError):
    """A line is not in the format. The message is one sentence."""


def parse(text: str, groups: Collection[str]) -> dict[str, dict[TopicPartition, int]]:
    """Return the offsets of each of these groups. A line without a group is for the only one of them."""
    found: dict[str, dict[TopicPartition, int]] = {group: {} for group in groups}
    for number, row in enumerate(csv.reader(io.StringIO(text)), start=1):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if len(cells) == 3 and len(found) == 1:
            cells = [*found, *cells]
        if len(cells) != 4 or not all(cell.isascii() and cell.isdigit() for cell in cells[2:]):
            raise UnreadableError(f"line {number} is {','.join(row)!r}")
        group, topic, partition, offset = cells
        if group in found:
            found[group][topic, int(partition)] = int(offset)
    return found


def _lines(rows: Iterable[tuple[str | int, ...]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        for value in row:
            if isinstance(value, str) and ("\n" in value or "\r" in value):
                raise UnwritableError(f"{value!r} has a line break, which the reset tool's CSV cannot hold")
        writer.writerow(row)
    return text.getvalue()
