"""Changing the settings of topics while they are in use (IncrementalAlterConfigs).

What takes effect at once may be changed: retention, the largest message, the cleanup policy. A setting that is fixed
when a topic is created, or that means nothing here, is refused with the reason: an answer of "done" would be untrue.
The broker's own settings come from its configuration file.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from coordinator.topics.describe import BROKER, TOPIC
from coordinator.topics.settings import TOPIC_KEYS, ConfigType, Effect, server_value, split_list
from protocol.error_codes import ErrorCode
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from coordinator.config import Config
    from coordinator.effects import Ticket
    from coordinator.topics.catalogue import Topic
    from coordinator.topics.changes import Parts
    from coordinator.topics.create_topics import Refusal
    from coordinator.topics.effects import ChangeCatalogue, Changed, Outbox

SET: Final = 0
DELETE: Final = 1
APPEND: Final = 2
SUBTRACT: Final = 3


class AlterConfigs:
    """One IncrementalAlterConfigs request."""

    def __init__(self, request: IncrementalAlterConfigsRequest, ticket: Ticket) -> None:
        self._request = request
        self._ticket = ticket
        self._response = IncrementalAlterConfigsResponse()
        self._altered: list[tuple[Topic, dict[str, str]]] = []

    def begin(self, parts: Parts, out: Outbox) -> ChangeCatalogue | None:
        times = Counter((asked.resource_type, asked.resource_name) for asked in self._request.resources)
        answered: set[tuple[int, str]] = set()
        for asked in self._request.resources:
            key = (asked.resource_type, asked.resource_name)
            if key in answered:
                continue
            answered.add(key)
            result = AlterConfigsResourceResponse(
                error_message=None, resource_type=asked.resource_type, resource_name=asked.resource_name
            )
            self._response.responses.append(result)
            refusal: Refusal | None
            if times[key] > 1:
                refusal = ErrorCode.INVALID_REQUEST, "the resource is in the request more than once"
            else:
                refusal = self._alter_one(asked, parts)
            if refusal is not None:
                result.error_code, result.error_message = refusal
        if self._request.validate_only or not self._altered:
            out.reply(self._ticket, self._response)
            return None
        return parts.plan(configs={topic.name: configs for topic, configs in self._altered})

    def _alter_one(self, asked: AlterConfigsResource, parts: Parts) -> Refusal | None:
        if asked.resource_type == BROKER:
            return (
                ErrorCode.INVALID_CONFIG,
                "the broker's settings are read from its configuration at start; change them there and restart",
            )
        if asked.resource_type != TOPIC:
            return ErrorCode.INVALID_REQUEST, f"resources of type {asked.resource_type} have no settings here"
        topic = parts.catalogue.topics.get(asked.resource_name)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic '{asked.resource_name}'"
        if topic.is_internal:
            return ErrorCode.INVALID_TOPIC_EXCEPTION, f"the settings of '{topic.name}' are the server's"
        if len({config.name for config in asked.configs}) != len(asked.configs):
            return ErrorCode.INVALID_REQUEST, "a setting is in the request more than once"
        configs = dict(topic.configs)
        for config in asked.configs:
            refusal = apply_operation(configs, config, parts.config)
            if refusal is not None:
                return refusal
        self._altered.append((topic, configs))
        return None

    def succeeded(self, parts: Parts, changed: Changed, out: Outbox) -> None:
        for topic, configs in self._altered:
            parts.catalogue.configure(topic, configs)
        out.reply(self._ticket, self._response)

    def failed(self, parts: Parts, error: ErrorCode, out: Outbox) -> None:
        for result in self._response.responses:
            if result.error_code == ErrorCode.NONE:
                result.error_code = error
                result.error_message = "the settings could not be written to disk"
        out.reply(self._ticket, self._response)


def apply_operation(configs: dict[str, str], asked: AlterableConfig, config: Config) -> Refusal | None:
    """Apply one operation to the settings that a topic has of its own, or say why not."""
    key = TOPIC_KEYS.get(asked.name)
    if key is None:
        return ErrorCode.INVALID_CONFIG, f"there is no topic setting {asked.name[:80]!r}"
    if asked.config_operation not in (SET, DELETE, APPEND, SUBTRACT):
        return ErrorCode.INVALID_REQUEST, f"{asked.config_operation} is not an operation on settings"
    if key.effect is not Effect.LIVE:
        when = "is fixed when a topic is created" if key.effect is Effect.CREATION else "has no effect on this server"
        return ErrorCode.INVALID_CONFIG, f"{key.name} {when} and cannot be changed"
    if asked.config_operation == DELETE:
        configs.pop(key.name, None)
        return None
    if asked.value is None:
        return ErrorCode.INVALID_REQUEST, f"{key.name} needs a value"
    value = asked.value
    if asked.config_operation != SET:
        if key.type is not ConfigType.LIST:
            return ErrorCode.INVALID_CONFIG, f"{key.name} is not a list: it can be set, but not appended to"
        present = split_list(configs.get(key.name, server_value(key, config)))
        entries = split_list(value)
        if asked.config_operation == APPEND:
            value = ",".join(dict.fromkeys([*present, *entries]))
        else:
            value = ",".join(entry for entry in present if entry not in entries)
    reason = key.why_invalid(value)
    if reason is not None:
        return ErrorCode.INVALID_CONFIG, reason
    configs[key.name] = value
    return None
