"""The syntax of kafka-consumer-groups for partitions: `orders` is a whole topic, `orders:0,3` are two partitions."""

from __future__ import annotations

from collections.abc import Iterable

from coordinator.cli.errors import CliError


def parse_topic_partitions(words: Iterable[str]) -> dict[str, set[int] | None]:
    """Return the partitions of each topic; None stands for all of them."""
    wanted: dict[str, set[int] | None] = {}
    for word in words:
        topic, separator, numbers = word.partition(":")
        listed = [text.strip() for text in numbers.split(",")]
        if not topic or (separator and not all(text.isascii() and text.isdigit() for text in listed)):
            raise CliError(
                f"--topic {word!r} names no partitions; write TOPIC, or TOPIC:PARTITION,... as in orders:0,3"
            )
        known = wanted.setdefault(topic, set())
        if not separator:
            wanted[topic] = None
        elif known is not None:
            known.update(map(int, listed))
    return wanted
