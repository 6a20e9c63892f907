"""Changing settings while they are in use (IncrementalAlterConfigs, AlterConfigs).

Settings that take effect at once can be changed: retention, segments, the largest message, the cleanup policy. A
setting that has no effect here is refused with the reason. Its present value is accepted, because tools send back all
settings that they have read.
IncrementalAlterConfigs changes the settings it names. AlterConfigs replaces those of a topic: a setting that it omits
and that can be changed returns to the server's value. The settings of nodes are changed by `node_configs.py`,
those of groups by `group_configs.py`, subscriptions to the metrics of clients by `client_metrics.py`.
Source: the checks, in their order, of Kafka's ConfigAdminManager and ControllerConfigurationValidator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from coordinator.core.topics import names
from coordinator.core.topics.client_metrics import CLIENT_METRICS, MOST_SUBSCRIPTIONS, alter_client_metrics
from coordinator.core.topics.config_operations import APPEND, DELETE, SET, Operation, check_form, operations
from coordinator.core.topics.describe import BROKER, BROKER_LOGGER, TOPIC
from coordinator.core.topics.group_configs import GROUP, alter_group_configs
from coordinator.core.topics.node_configs import alter_node_configs, why_not_a_node
from coordinator.core.topics.settings import LIVE, TOPIC_KEYS, ConfigType, server_value, split_list
from protocol.error_codes import ErrorCode
from protocol.messages import alter_configs, incremental_alter_configs
from protocol.messages.alter_configs import AlterConfigsRequest
from protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coordinator.config.config import Config
    from coordinator.core.effects import Ticket
    from coordinator.core.topics.catalogue import Topic
    from coordinator.core.topics.changes import Parts
    from coordinator.core.topics.create_topics import Refusal
    from coordinator.core.topics.effects import ChangeCatalogue, Changed, Outbox

AnyRequest = IncrementalAlterConfigsRequest | AlterConfigsRequest

# The response to each of the two requests, and its entry for one resource.
RESPONSES: Final[Mapping[type, tuple[Any, Any]]] = MappingProxyType(
    {
        IncrementalAlterConfigsRequest: (
            incremental_alter_configs.IncrementalAlterConfigsResponse,
            incremental_alter_configs.AlterConfigsResourceResponse,
        ),
        AlterConfigsRequest: (alter_configs.AlterConfigsResponse, alter_configs.AlterConfigsResourceResponse),
    }
)


class AlterConfigs:
    """One IncrementalAlterConfigs or AlterConfigs request."""

    def __init__(self, request: AnyRequest, ticket: Ticket) -> None:
        response, self._result = RESPONSES[type(request)]
        self._request = request
        self._ticket = ticket
        self._response = response()
        self._altered: list[tuple[Topic, dict[str, str]]] = []
        self._nodes: dict[str, dict[str, str]] = {}
        self._groups: dict[str, dict[str, str]] = {}
        self._client_metrics: dict[str, dict[str, str]] = {}

    def begin(self, parts: Parts, out: Outbox) -> ChangeCatalogue | None:
        times = Counter((asked.resource_type, asked.resource_name) for asked in self._request.resources)
        seen: set[tuple[int, str]] = set()
        for asked in self._request.resources:
            key = (asked.resource_type, asked.resource_name)
            if key in seen:
                continue
            seen.add(key)
            result = self._result(
                error_message=None, resource_type=asked.resource_type, resource_name=asked.resource_name
            )
            self._response.responses.append(result)
            refusal: Refusal | None
            if times[key] > 1:
                refusal = ErrorCode.INVALID_REQUEST, "the resource is in the request more than once"
            else:
                refusal = self._alter_one(asked.resource_type, asked.resource_name, operations(asked.configs), parts)
            if refusal is not None:
                result.error_code, result.error_message = refusal
        is_changing = self._altered or self._nodes or self._groups or self._client_metrics
        if self._request.validate_only or not is_changing:
            out.reply(self._ticket, self._response)
            return None
        return parts.plan(
            configs={topic.name: configs for topic, configs in self._altered},
            node_configs=self._node_configs(parts),
            group_configs=_merged(parts.catalogue.group_configs, self._groups),
            client_metrics=_merged(parts.catalogue.client_metrics, self._client_metrics),
        )

    def _node_configs(self, parts: Parts) -> dict[str, Mapping[str, str]]:
        return _merged(parts.catalogue.node_configs, self._nodes)

    def _alter_one(self, kind: int, name: str, asked: Sequence[Operation], parts: Parts) -> Refusal | None:
        refusal = check_form(asked)
        if refusal is not None:
            return refusal
        if kind == BROKER:
            return self._alter_node(name, asked, parts)
        if kind == GROUP:
            return self._alter_group(name, asked, parts)
        if kind == CLIENT_METRICS:
            return self._alter_client_metrics(name, asked, parts)
        if kind == BROKER_LOGGER:
            return (
                ErrorCode.INVALID_REQUEST,
                "the levels of loggers are changed by an IncrementalAlterConfigs of their own",
            )
        if kind != TOPIC:
            return ErrorCode.INVALID_REQUEST, f"resources of type {kind} have no settings here"
        if not name:
            return ErrorCode.INVALID_REQUEST, "name a topic: there are no settings for all topics together"
        reason = names.why_invalid(name)
        if reason is not None:
            return ErrorCode.INVALID_TOPIC_EXCEPTION, reason
        topic = parts.catalogue.topics.get(name)
        if topic is not None and topic.is_internal:
            return ErrorCode.INVALID_TOPIC_EXCEPTION, f"the settings of '{name}' are the server's"
        own = topic.configs if topic is not None else {}
        configs = dict(own)
        if isinstance(self._request, AlterConfigsRequest):
            configs = {key: value for key, value in own.items() if key not in LIVE}
        for each in asked:
            refusal = apply_operation(configs, each, own, parts.config)
            if refusal is not None:
                return refusal
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic '{name}'"
        self._altered.append((topic, configs))
        return None

    def _alter_node(self, name: str, asked: Sequence[Operation], parts: Parts) -> Refusal | None:
        refusal = why_not_a_node(name, parts.cluster)
        if refusal is not None:
            return refusal
        before = self._node_configs(parts)
        if isinstance(self._request, AlterConfigsRequest):
            before.pop(name, None)
        altered = alter_node_configs(name, asked, before, parts.catalogue.dynamic)
        if isinstance(altered, tuple):
            return altered
        self._nodes[name] = altered
        return None

    def _alter_group(self, name: str, asked: Sequence[Operation], parts: Parts) -> Refusal | None:
        known = parts.catalogue.group_configs
        before = {} if isinstance(self._request, AlterConfigsRequest) else known.get(name, {})
        altered = alter_group_configs(name, asked, before, parts.config)
        if isinstance(altered, tuple):
            return altered
        if altered and name not in known and len(known) + len(self._groups) >= parts.config.max_topics:
            return ErrorCode.POLICY_VIOLATION, f"max.topics = {parts.config.max_topics} groups have settings already"
        self._groups[name] = altered
        return None

    def _alter_client_metrics(self, name: str, asked: Sequence[Operation], parts: Parts) -> Refusal | None:
        known = parts.catalogue.client_metrics
        before = {} if isinstance(self._request, AlterConfigsRequest) else known.get(name, {})
        altered = alter_client_metrics(name, asked, before)
        if isinstance(altered, tuple):
            return altered
        if altered and name not in known and len(known) + len(self._client_metrics) >= MOST_SUBSCRIPTIONS:
            return ErrorCode.POLICY_VIOLATION, f"there are {MOST_SUBSCRIPTIONS} subscriptions already; delete one"
        self._client_metrics[name] = altered
        return None

    def succeeded(self, parts: Parts, changed: Changed, out: Outbox) -> None:
        if self._nodes:
            parts.catalogue.configure_nodes(self._node_configs(parts))
        if self._groups:
            parts.catalogue.configure_groups(_merged(parts.catalogue.group_configs, self._groups))
        if self._client_metrics:
            parts.catalogue.configure_client_metrics(_merged(parts.catalogue.client_metrics, self._client_metrics))
        for topic, configs in self._altered:
            parts.catalogue.configure(topic, configs)
        out.reply(self._ticket, self._response)

    def failed(self, parts: Parts, error: ErrorCode, out: Outbox) -> None:
        for result in self._response.responses:
            if result.error_code == ErrorCode.NONE:
                result.error_code = error
                result.error_message = "the settings could not be written to disk"
        out.reply(self._ticket, self._response)


def _merged(
    before: Mapping[str, Mapping[str, str]], changed: Mapping[str, Mapping[str, str]]
) -> dict[str, Mapping[str, str]]:
    """Return the settings of all resources of a type after a change. One without settings is no longer in them."""
    return {name: configs for name, configs in {**before, **changed}.items() if configs}


def apply_operation(
    configs: dict[str, str], asked: Operation, own: Mapping[str, str], config: Config
) -> Refusal | None:
    """Apply one operation to `configs`, or return a refusal. `own` are the settings that the topic overrides so far."""
    key = TOPIC_KEYS.get(asked.name)
    if key is None:
        return ErrorCode.INVALID_CONFIG, f"there is no topic setting {asked.name[:80]!r}"
    held = own.get(key.name, server_value(key, config))
    if asked.kind == DELETE or asked.value is None:
        value = server_value(key, config)
    elif asked.kind == SET:
        value = asked.value
    elif key.type is not ConfigType.LIST:
        return ErrorCode.INVALID_CONFIG, f"{key.name} is not a list: it can be set, but not appended to"
    else:
        value = _changed_list(held, asked)
    reason = key.why_invalid(value)
    if reason is not None:
        return ErrorCode.INVALID_CONFIG, reason
    value = key.normal(value)
    if key.name not in LIVE and value != key.normal(held):
        return ErrorCode.INVALID_CONFIG, (
            f"{key.name} has no effect on this server and cannot be changed; leave it out, or send {held!r}"
        )
    if asked.kind == DELETE:
        configs.pop(key.name, None)
    else:
        configs[key.name] = value
    return None


def _changed_list(held: str, asked: Operation) -> str:
    present, entries = split_list(held), [entry.strip() for entry in (asked.value or "").split(",")]
    if asked.kind == APPEND:
        return ",".join(dict.fromkeys([*present, *entries]))
    return ",".join(entry for entry in present if entry not in entries)
