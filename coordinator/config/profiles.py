"""Profiles: sets of values for one purpose, weaker than every other source of settings but the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from coordinator.config.values import ConfigError


class ProfileValue(NamedTuple):
    """The value of one key in a profile, and why it has it."""

    value: str
    why: str


TEST: Final[Mapping[str, ProfileValue]] = MappingProxyType(
    {
        "group.initial.rebalance.delay.ms": ProfileValue("0", "the first member is assigned at once"),
        "group.min.session.timeout.ms": ProfileValue("10", "a test of an expired session need not last 6 s"),
        "group.events.topic.enable": ProfileValue("false", "no topic but those of the test"),
        "offsets.topic.num.partitions": ProfileValue("1", "one log to open, and one to load"),
        "offsets.snapshot.tail.bytes": ProfileValue("0", "no child process"),
        "offsets.snapshot.stop.ms": ProfileValue("0", "a stop does not wait"),
        "fetch.max.wait.ms": ProfileValue("50", "a client may wait for an empty partition first"),
        "log.dirs": ProfileValue(":memory:", "nothing on the disk"),
        "test.verbs.enable": ProfileValue("true", "`coordinator faults`, and POST /test/... for other languages"),
        "log.flush.policy": ProfileValue("never", "nothing has to survive the machine"),
        "topic.flush.policy": ProfileValue("never", "nothing has to survive the machine"),
    }
)

PROFILES: Final[Mapping[str, Mapping[str, ProfileValue]]] = MappingProxyType({"test": TEST})


def profile_values(name: str) -> dict[str, str]:
    """Return the values of a profile by key. Raises ConfigError for an unknown name."""
    try:
        return {key: row.value for key, row in PROFILES[name].items()}
    except KeyError:
        raise ConfigError(f"there is no profile {name!r}; there is: {', '.join(PROFILES)}") from None
