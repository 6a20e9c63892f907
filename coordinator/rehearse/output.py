"""Reads in the output of a copy which settings its client refuses, and the callbacks that it prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

# Settings that Java clients and librdkafka refuse under group.protocol=consumer, each with what to do instead.
REFUSED: Final = {
    "session.timeout.ms": "set consumer.session.timeout.ms of the group instead",
    "heartbeat.interval.ms": "set consumer.heartbeat.interval.ms of the group instead",
    "partition.assignment.strategy": "choose an assignor of the coordinator by group.remote.assignor (uniform, range)",
    "group.protocol.type": "leave it out, it has no other value than consumer",
}
LONGEST_LINE: Final = 300
MOST_CALLBACKS: Final = 100

_SETTING: Final = re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, REFUSED))})(?!\w)")
_REFUSAL: Final = re.compile(r"not supported|cannot be set|can't be set|not allowed|not applicable|unsupported", re.I)
_CALLBACK: Final = re.compile(r"(?:\b|_|\bon|partitions)(assigned|revoked|lost|assign|revoke)(?=\b|_)", re.I)
_WORDS: Final = {"assign": "assigned", "revoke": "revoked"}


class RefusedSetting(NamedTuple):
    """A setting that a client refused, with the line that says so."""

    setting: str
    line: str


def refused_settings(output: str) -> Iterator[RefusedSetting]:
    """Yield each refused setting once."""
    seen = set()
    for line in output.splitlines():
        if "group.protocol" in line and _REFUSAL.search(line):
            # The first name is that of the refused one; what follows may name another one to use.
            found = _SETTING.search(line)
            if found is not None and found[1] not in seen:
                seen.add(found[1])
                yield RefusedSetting(found[1], line.strip()[:LONGEST_LINE])


def printed_callbacks(output: str) -> list[str]:
    """Return the callbacks that are named in the lines of an output, in their order: assigned, revoked, lost."""
    found = []
    for line in output.splitlines():
        if (named := _CALLBACK.search(line)) is not None:
            word = named[1].lower()
            found.append(_WORDS.get(word, word))
    return found[:MOST_CALLBACKS]
