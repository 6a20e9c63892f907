"""Subscriptions to the metrics of clients (KIP-714): the rules for a resource of type CLIENT_METRICS.

A subscription names prefixes of metrics, how often they are pushed, and which clients it is for. Like the settings of
groups they are part of the catalogue, which the controller writes and every node follows. Expressions have the syntax
of RE2 and match a value as a whole. Source: Kafka's `ClientMetricsConfigs`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.core.consumer_group.regex import CompiledRegex, InvalidRegularExpressionError, compile_regex
from coordinator.core.topics.config_operations import APPEND, DELETE, SET, Operation
from coordinator.core.topics.settings import ConfigType, split_list
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordinator.core.topics.create_topics import Refusal

CLIENT_METRICS: Final = 16  # the type of the resource
FROM_SUBSCRIPTION: Final = 7  # the source of a value
ALL_METRICS: Final = "*"
DEFAULT_INTERVAL_MS: Final = 300_000
LEAST_INTERVAL_MS: Final = 100
MOST_INTERVAL_MS: Final = 3_600_000
MOST_VALUE_CHARACTERS: Final = 2_000
MOST_SUBSCRIPTIONS: Final = 100
MATCHED: Final = frozenset(
    (
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    )
)
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,10}")


class SubscriptionKey(NamedTuple):
    """One setting of a subscription."""

    name: str
    type: ConfigType
    default: str
    help: str


SUBSCRIPTION_KEYS: Final[Mapping[str, SubscriptionKey]] = {
    key.name: key
    for key in (
        SubscriptionKey("interval.ms", ConfigType.INT, str(DEFAULT_INTERVAL_MS), "How often clients push them."),
        SubscriptionKey("match", ConfigType.LIST, "", "Which clients push them, as client_id=EXPRESSION; all if none."),
        SubscriptionKey("metrics", ConfigType.LIST, "", "Prefixes of the names of metrics; * for all."),
    )
}


class Subscription(NamedTuple):
    """A subscription, parsed."""

    metrics: tuple[str, ...]
    interval_ms: int
    match: Mapping[str, CompiledRegex]

    def is_for(self, client: Mapping[str, str]) -> bool:
        """Return whether it is for the client with these values of `MATCHED`."""
        return all(regex.matching((client.get(name, ""),)) for name, regex in self.match.items())


class _InvalidPatternError(ValueError):
    """An entry of `match` is refused."""


def subscription_of(configs: Mapping[str, str]) -> Subscription:
    """Parse the settings of a subscription, which `alter_client_metrics` has accepted."""
    return Subscription(
        metrics=tuple(split_list(configs.get("metrics", ""))),
        interval_ms=int(configs.get("interval.ms", DEFAULT_INTERVAL_MS)),
        match=_patterns(configs.get("match", "")),
    )


def _patterns(text: str) -> dict[str, CompiledRegex]:
    patterns = {}
    for entry in split_list(text):
        name, *expressions = [part.strip() for part in entry.split("=")]
        if name not in MATCHED or len(expressions) != 1 or not expressions[0]:
            raise _InvalidPatternError(entry)
        try:
            patterns[name] = compile_regex(expressions[0])
        except InvalidRegularExpressionError as error:
            raise _InvalidPatternError(entry) from error
    return patterns


def alter_client_metrics(
    name: str, operations: Sequence[Operation], before: Mapping[str, str]
) -> dict[str, str] | Refusal:
    """Return the settings of a subscription after these operations, or a refusal. `before` are those that it keeps."""
    if not name:
        return ErrorCode.INVALID_REQUEST, "Subscription name can't be empty"
    configs = dict(before)
    for asked in operations:
        if asked.kind == DELETE:
            configs.pop(asked.name, None)
        elif asked.kind == SET:
            configs[asked.name] = asked.value or ""
        else:  # of lists, too: Kafka's controller does not know their type
            verb = "APPEND" if asked.kind == APPEND else "SUBTRACT"
            return ErrorCode.INVALID_CONFIG, f"Can't {verb} to key {asked.name[:80]} because its type is not LIST."
    return _why_invalid(configs) or configs


def _why_invalid(configs: Mapping[str, str]) -> Refusal | None:
    for each, value in configs.items():
        if each not in SUBSCRIPTION_KEYS:
            return ErrorCode.INVALID_REQUEST, f"Unknown client metrics configuration: {each[:80]}"
        if len(value) > MOST_VALUE_CHARACTERS:
            return ErrorCode.INVALID_CONFIG, f"{each} is longer than {MOST_VALUE_CHARACTERS} characters; shorten it"
    text = configs.get("interval.ms", str(DEFAULT_INTERVAL_MS)).strip()
    if _INTEGER.fullmatch(text) is None:
        return (
            ErrorCode.INVALID_CONFIG,
            f"Invalid value {text[:40]} for configuration interval.ms: Not a number of type INT",
        )
    if not LEAST_INTERVAL_MS <= int(text) <= MOST_INTERVAL_MS:
        return (
            ErrorCode.INVALID_REQUEST,
            f"Invalid value {text} for interval.ms, interval must be between 100 and 3600000 (1 hour)",
        )
    try:
        _patterns(configs.get("match", ""))
    except _InvalidPatternError as error:
        return ErrorCode.INVALID_CONFIG, f"Illegal client matching pattern: {error}"
    return None
