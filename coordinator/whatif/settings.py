"""The settings that a what-if run may change, by Kafka's names, and a group with some of them changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from coordinator.config.config import Config
from coordinator.whatif.assignors import ASSIGNORS
from coordinator.whatif.spec import PlayedGroup, PlayedMember

Apply = Callable[[PlayedGroup, Any], PlayedGroup]
RECORDED: Final = "as recorded"
DEFAULTS: Final = Config()


class SettingError(ValueError):
    """A setting that a run cannot have; the message says which ones it can."""


@dataclass(frozen=True, slots=True)
class SettingKey:
    """One key: how its value is read, and how a group gets it."""

    parse: Callable[[str], Any]
    apply: Apply


@dataclass(frozen=True, slots=True)
class Settings:
    """Some settings, changed together."""

    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The settings as they were given; those of the recording have a name of their own."""
        return ", ".join(f"{key}={_text(value)}" for key, value in self.values.items()) or RECORDED

    def applied(self, group: PlayedGroup) -> PlayedGroup:
        """Return the group with these settings. Raises SettingError for timeouts that exclude each other."""
        for key, value in self.values.items():
            group = KEYS[key].apply(group, value)
        if self.values:
            _check(group)
        return group


def parse_settings(pairs: Sequence[str]) -> Settings:
    """Parse pairs such as "session.timeout.ms=45000". Raises SettingError."""
    values: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = (part.strip() for part in pair.partition("="))
        if key not in KEYS:
            raise SettingError(f"{key!r} cannot be changed here; choose of: {', '.join(sorted(KEYS))}")
        if not equals or not text:
            raise SettingError(f"{key} has no value; write {key}=VALUE")
        try:
            values[key] = KEYS[key].parse(text)
        except SettingError as error:
            raise SettingError(f"{key}={text}: {error}") from None
    return Settings(values)


def parse_alternatives(together: Sequence[str], tried: Sequence[str]) -> list[Settings]:
    """Return the settings of the recording, and the alternatives: those of --set, and one for each --try."""
    given = [list(together), *(text.split(",") for text in tried)]
    return [Settings(), *(parse_settings(pairs) for pairs in given if pairs)]


def _milliseconds(text: str) -> int:
    if not text.isdecimal():
        raise SettingError("give a whole number of milliseconds")
    return int(text)


def _positive(text: str) -> int:
    if not (value := _milliseconds(text)):
        raise SettingError("give a number of milliseconds above 0")
    return value


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise SettingError("give true or false")
    return text == "true"


def _assignor(text: str) -> str:
    if text not in ASSIGNORS:
        raise SettingError(f"give one of {', '.join(ASSIGNORS)}")
    return text


def _protocol(text: str) -> str:
    if text != "classic":
        raise SettingError(
            "only the classic protocol is modelled; `coordinator rehearse` plays an application's move to `consumer`"
        )
    return text


def _member(name: str) -> Apply:
    return lambda group, value: replace(group, members=tuple(replace(each, **{name: value}) for each in group.members))


def _broker(name: str) -> Apply:
    return lambda group, value: replace(group, broker={**group.broker, name: value})


def _static(group: PlayedGroup, value: bool) -> PlayedGroup:
    def changed(member: PlayedMember) -> PlayedMember:
        return replace(member, instance_id=(member.instance_id or member.name) if value else None)

    return replace(group, members=tuple(map(changed, group.members)))


KEYS: Final[Mapping[str, SettingKey]] = MappingProxyType(
    {
        "session.timeout.ms": SettingKey(_positive, _member("session_timeout_ms")),
        "heartbeat.interval.ms": SettingKey(_positive, _member("heartbeat_interval_ms")),
        "max.poll.interval.ms": SettingKey(_positive, _member("rebalance_timeout_ms")),
        "partition.assignment.strategy": SettingKey(_assignor, lambda group, value: replace(group, assignor=value)),
        "static": SettingKey(_flag, _static),  # group.instance.id for each member
        "group.protocol": SettingKey(_protocol, lambda group, value: group),
        "group.initial.rebalance.delay.ms": SettingKey(_milliseconds, _broker("group_initial_rebalance_delay_ms")),
        "group.min.session.timeout.ms": SettingKey(_positive, _broker("group_min_session_timeout_ms")),
        "group.max.session.timeout.ms": SettingKey(_positive, _broker("group_max_session_timeout_ms")),
        "group.heartbeat.park.ms": SettingKey(
            _milliseconds, lambda group, value: _member("is_parked")(group, value > 0)
        ),
    }
)


def _check(group: PlayedGroup) -> None:
    shortest = group.broker.get("group_min_session_timeout_ms", DEFAULTS.group_min_session_timeout_ms)
    longest = group.broker.get("group_max_session_timeout_ms", DEFAULTS.group_max_session_timeout_ms)
    for member in group.members:
        session_ms, interval_ms = member.session_timeout_ms, member.heartbeat_interval_ms
        if not shortest <= session_ms <= longest:
            raise SettingError(
                f"session.timeout.ms={session_ms} is outside of group.min.session.timeout.ms={shortest} and "
                f"group.max.session.timeout.ms={longest}; change one of them as well"
            )
        if interval_ms >= session_ms:
            raise SettingError(
                f"heartbeat.interval.ms={interval_ms} is not below session.timeout.ms={session_ms}, which clients "
                "refuse; change one of them as well"
            )


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
