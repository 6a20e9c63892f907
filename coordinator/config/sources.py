"""The sources of settings and their precedence: make a `Config` from a file, the environment and the command line.

The last of these that names a key gives its value: default, --config FILE, environment (COORDINATOR_GROUP_MAX_SIZE),
--override key=value, the flag of the key. A key of Kafka's that this daemon does not have is ignored with one warning,
so that Kafka's server.properties can be used unchanged; any other unknown key is an error that names the most similar
key. Finally the settings are checked against each other.

Pure: text and mappings in, a frozen `Config` out. The command line reads the file and the environment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from coordinator.config.config import OTHER_NAMES, WHOLE_NUMBER, Config, keys
from coordinator.config.environment import setting_variables, variable_of
from coordinator.config.kafka_keys import KAFKA_KEYS, KAFKA_PREFIXES
from coordinator.config.listener_checks import check_listeners_together
from coordinator.config.profiles import profile_values
from coordinator.config.properties import PropertiesError, parse_properties
from coordinator.config.security import MECHANISMS
from coordinator.config.values import ConfigError

LISTENER_PREFIX: Final = "listener.name."


def load(
    file_text: str | None = None,
    overrides: Iterable[str] = (),
    environ: Mapping[str, str] | None = None,
    *,
    file_name: str = "server.properties",
    flags: Mapping[str, str] | None = None,
    profile: str = "",
    warn: Callable[[str], None] | None = None,
) -> Config:
    """Make a Config from, in rising precedence, `profile` (a name), `file_text`, `environ`, `overrides`, `flags`.

    `overrides` are "key=value", `flags` are values by key.

    `warn` gets at most one sentence about ignored keys of Kafka's, and one about ignored variables.
    """
    values: dict[str, Any] = {}
    unused: list[str] = []
    unused_variables: list[str] = []
    of_listeners: list[tuple[str, str, Any]] = []

    def take(entries: Iterable[tuple[str, str, str]]) -> None:
        """Read one source of (key, text, place). Within a source a key takes precedence over its other names."""
        exact: dict[str, Any] = {}
        converted: dict[str, tuple[int, Any]] = {}
        for name, text, where in entries:
            try:
                if name.startswith(LISTENER_PREFIX):
                    _take_of_listener(name, text, of_listeners, unused)
                else:
                    _take_one(name, text, exact, converted, unused)
            except ConfigError as error:
                raise ConfigError(f"{error} ({where})") from None
        values.update({attribute: value for attribute, (_, value) in converted.items()})
        values.update(exact)

    if profile:
        take((name, text, f"profile {profile}") for name, text in profile_values(profile).items())
    if file_text is not None:
        try:
            entries = parse_properties(file_text)
        except PropertiesError as error:
            raise ConfigError(f"{file_name} is not a properties file: {error}") from None
        take((entry.key, entry.value, f"{file_name}, line {entry.line}") for entry in entries)
    take(_from_environment(environ or {}, unused_variables))
    take(_from_overrides(overrides))
    take((name, text, "on the command line") for name, text in (flags or {}).items())
    if unused and warn is not None:
        warn(f"ignored settings of Kafka's that mean nothing here: {', '.join(sorted(set(unused)))}")
    if unused_variables and warn is not None:
        warn(f"ignored variables in the environment that name no setting: {', '.join(unused_variables)}")
    config = Config(**values, is_http_given="http_listen" in values, listener_settings=tuple(of_listeners))
    check_together(config)
    return config


def _take_one(
    name: str, text: str, exact: dict[str, Any], converted: dict[str, tuple[int, Any]], unused: list[str]
) -> None:
    key = keys().get(name)
    if key is not None:
        exact[key.attribute] = key.parse(text)
        return
    other = OTHER_NAMES.get(name)
    if other is not None:
        key = keys()[other.key]
        stripped = text.strip()
        if WHOLE_NUMBER.fullmatch(stripped) and other.factor != 1:
            stripped = str(int(stripped) * other.factor if int(stripped) >= 0 else int(stripped))
        try:
            value = key.parse(stripped)
        except ConfigError as error:
            raise ConfigError(f"{name} sets {other.key}, and {error}") from None
        factor, _ = converted.get(key.attribute, (other.factor, None))
        if other.factor <= factor:
            converted[key.attribute] = (other.factor, value)
        return
    if name in KAFKA_KEYS or name.startswith(KAFKA_PREFIXES):
        unused.append(name)
        return
    raise ConfigError(f"there is no setting {name!r}; {_nearest(name)}")


def _take_of_listener(name: str, text: str, taken: list[tuple[str, str, Any]], unused: list[str]) -> None:
    """Take `listener.name.NAME.KEY`, or `listener.name.NAME.MECHANISM.KEY`; Kafka writes both names in lower case."""
    listener, _, rest = name.removeprefix(LISTENER_PREFIX).partition(".")
    mechanism, _, behind = rest.partition(".")
    for candidate in (rest, behind if mechanism.upper() in MECHANISMS else ""):
        key = keys().get(candidate)
        if key is not None and key.per_listener:
            taken.append((listener.upper(), key.attribute, key.parse(text)))
            return
    unused.append(name)


def _nearest(name: str) -> str:
    from difflib import get_close_matches  # imported late, since only a mistake needs it

    close = get_close_matches(name, [*keys(), *OTHER_NAMES], n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else "`coordinator config` lists them all"


def _from_environment(environ: Mapping[str, str], unused: list[str]) -> Iterable[tuple[str, str, str]]:
    for variable in setting_variables(environ):
        if variable.is_ours or _is_known(variable.key):
            yield variable.key, variable.value, f"in the environment, {variable.name}"
        else:
            unused.append(variable.name)


def _is_known(name: str) -> bool:
    return name in keys() or name in OTHER_NAMES or name in KAFKA_KEYS or name.startswith(KAFKA_PREFIXES)


def _from_overrides(overrides: Iterable[str]) -> Iterable[tuple[str, str, str]]:
    for override in overrides:
        name, separator, text = override.partition("=")
        name = name.strip()
        may_hold_password = name == "log.engine" or ("@" in override and "://" in override)
        if not separator:
            shown = "KEY VALUE" if may_hold_password else repr(override)
            raise ConfigError(f"--override {shown} has no value; write --override key=value")
        if _is_secret(name):
            raise ConfigError(
                f"--override {name}=... shows a secret to everyone who lists processes; write it into the file of "
                f"--config, or into the environment as {variable_of(name)}"
            )
        yield name, text, f"--override {name}=..." if may_hold_password else f"--override {override}"


def _is_secret(name: str) -> bool:
    key = keys().get(name) or keys().get(name.removeprefix(LISTENER_PREFIX).partition(".")[2])
    return key is not None and key.type == "password"


def check_together(config: Config) -> None:
    """Raise ConfigError if settings that are valid by themselves contradict each other."""
    if config.group_min_session_timeout_ms > config.group_max_session_timeout_ms:
        raise ConfigError(
            f"group.min.session.timeout.ms ({config.group_min_session_timeout_ms}) is above "
            f"group.max.session.timeout.ms ({config.group_max_session_timeout_ms}); lower the first or raise the second"
        )
    _check_consumer_groups(config)
    if config.message_max_bytes > config.socket_request_max_bytes:
        raise ConfigError(
            f"message.max.bytes ({config.message_max_bytes}) is above socket.request.max.bytes "
            f"({config.socket_request_max_bytes}), so such a batch could never arrive; raise the second"
        )
    if 0 <= config.queued_max_request_bytes < config.socket_request_max_bytes:
        raise ConfigError(
            f"queued.max.request.bytes ({config.queued_max_request_bytes}) is below socket.request.max.bytes "
            f"({config.socket_request_max_bytes}), so such a request could never arrive; raise the first"
        )
    check_listeners_together(config)
    nodes = config.node_addresses
    if nodes and config.node_id not in nodes:
        raise ConfigError(
            f"cluster.nodes has the nodes {', '.join(map(str, nodes))}, but node.id is {config.node_id}; "
            "set node.id to the one that this is, or add it to cluster.nodes on every node"
        )
    if nodes and config.advertised_address not in (None, nodes[config.node_id]):
        raise ConfigError(
            f"advertised.listeners is {config.advertised_address}, but cluster.nodes has this node at "
            f"{nodes[config.node_id]}; remove advertised.listeners, since cluster.nodes is what clients are told"
        )
    _check_engine(config)
    if config.workers > 1 and nodes:
        raise ConfigError(
            "workers and cluster.nodes both say which nodes there are; remove one of them, or give each worker a place "
            "in cluster.nodes and start it by itself"
        )
    wanted = config.preloaded_topics
    if len(wanted) > config.max_topics or sum(wanted.values()) > config.max_partitions:
        raise ConfigError(
            f"topics.preload asks for {len(wanted)} topics with {sum(wanted.values())} partitions, above max.topics "
            f"({config.max_topics}) or max.partitions ({config.max_partitions}); raise the limit or ask for less"
        )


def _check_consumer_groups(config: Config) -> None:
    """Raise ConfigError if the times of KIP-848 groups contradict each other."""
    if config.group_consumer_heartbeat_interval_ms >= config.group_consumer_session_timeout_ms:
        raise ConfigError(
            f"group.consumer.heartbeat.interval.ms ({config.group_consumer_heartbeat_interval_ms}) is not below "
            f"group.consumer.session.timeout.ms ({config.group_consumer_session_timeout_ms}), so each member would be "
            "removed between two heartbeats; lower the first"
        )


def _check_engine(config: Config) -> None:
    """Raise ConfigError if settings contradict log.engine."""
    if not config.has_topics and config.topics_preload:
        raise ConfigError(
            "topics.preload names topics, but topics.storage is off; remove one of them (with log.engine, topics are "
            "off unless topics.storage=local)"
        )
    if not config.is_shared:
        return
    if not config.cluster_id:
        raise ConfigError(
            "log.engine is shared by the nodes of a cluster; set cluster.id to a name of your choice, the same on "
            "every node"
        )
    if config.workers > 1:
        raise ConfigError(
            "workers and log.engine both divide the partitions; remove one of them, or start a daemon for each core, "
            "each with a node.id of its own"
        )
    if config.has_topics and not config.cluster_nodes:
        raise ConfigError(
            "topics.storage=local with log.engine needs cluster.nodes, which says what node leads a partition of a "
            "topic; set it, or turn topics off"
        )
    if config.cluster_heartbeat_ms * 3 > config.cluster_lease_ms:
        raise ConfigError(
            f"cluster.heartbeat.ms ({config.cluster_heartbeat_ms}) is more than a third of cluster.lease.ms "
            f"({config.cluster_lease_ms}), so one late heartbeat would cost a node its partitions; lower the first"
        )
