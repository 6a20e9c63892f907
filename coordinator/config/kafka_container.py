"""The environment of a container of Kafka, as settings of this daemon: `coordinator serve --as-kafka-container`.

The images of Apache, Confluent and Bitnami make a server.properties from variables before they start Kafka, each with a
few rules of its own. The functions here apply these rules, so that the `environment:` of such a container, and the
variables that Testcontainers sets, can stay as they are. Source: `docker/resources/common-scripts/configure` of Apache
Kafka, `configure` of Confluent's cp-kafka, and `libkafka.sh` of Bitnami.

Pure: mappings in, mappings out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from coordinator.config.config import Config
from coordinator.config.environment import KAFKA_PREFIX
from coordinator.config.values import ConfigError

_BITNAMI_PREFIX: Final = "KAFKA_CFG_"
_CLUSTER_ID: Final = "KAFKA_CLUSTER_ID"
_OTHER_CLUSTER_IDS: Final = ("CLUSTER_ID", "KAFKA_KRAFT_CLUSTER_ID")
_LISTENERS: Final = "KAFKA_LISTENERS"
_ADVERTISED: Final = "KAFKA_ADVERTISED_LISTENERS"
_LOG_DIRS: Final = "KAFKA_LOG_DIRS"
_SCHEME: Final = "://"

Note = Callable[[str], None]


def ready_line(node_id: int) -> str:
    """Return the line that programs wait for when they have started a container of Kafka, in all its forms."""
    return (
        f"ready in place of Kafka's container, of which programs await one of these lines: [KafkaServer id={node_id}] "
        "started; Kafka Server started; Transitioning from RECOVERY to RUNNING"
    )


def translated(environ: Mapping[str, str], note: Note) -> dict[str, str]:
    """Return the environment with the rules of Kafka's images applied. `note` gets a sentence for what is left out.

    Raises ConfigError for a container that is a controller only.
    """
    variables = dict(environ)
    for name in sorted(environ):
        if name.startswith(_BITNAMI_PREFIX):
            variables[KAFKA_PREFIX + name.removeprefix(_BITNAMI_PREFIX)] = variables.pop(name)
    if variables.get("KAFKA_PROCESS_ROLES", "").strip() == "controller":
        raise ConfigError(
            "KAFKA_PROCESS_ROLES is controller, and there is no work for a container that is only that; remove this "
            "container, and keep one that is a broker"
        )
    for name in _OTHER_CLUSTER_IDS:
        if name in variables:
            variables.setdefault(_CLUSTER_ID, variables[name])
    for name in ("KAFKA_BROKER_ID", "KAFKA_NODE_ID"):
        if variables.get(name, "").strip() == "-1":
            note(f"ignored {name}=-1, which lets Kafka choose a number")
            del variables[name]
    first, comma, _ = variables.get(_LOG_DIRS, "").partition(",")
    if comma:
        note(f"{_LOG_DIRS} has several directories; all data is in the first one, {first}")
        variables[_LOG_DIRS] = first
    _translate_listeners(variables, note)
    return variables


def _translate_listeners(variables: dict[str, str], note: Note) -> None:
    """Leave out the listeners of controllers. Listeners that are not given are those that are advertised."""
    controllers = {"CONTROLLER", *_entries(variables.get("KAFKA_CONTROLLER_LISTENER_NAMES", "").upper())}
    dropped: list[str] = []
    for name in (_LISTENERS, _ADVERTISED):
        entries = _entries(variables.get(name, ""))
        kept = [entry for entry in entries if entry.partition(_SCHEME)[0].upper() not in controllers]
        if kept != entries:
            dropped += [entry for entry in entries if entry not in kept and name == _LISTENERS]
            variables[name] = ",".join(kept)
    listeners = {entry.partition(_SCHEME)[0].upper() for entry in _entries(variables.get(_LISTENERS, ""))}
    for name in list(variables):
        if _is_about(name, controllers) and not _is_about(name, listeners):
            dropped.append(name)
            del variables[name]
    if not variables.get(_LISTENERS):
        variables.pop(_LISTENERS, None)
    if dropped:
        note(f"ignored {', '.join(dropped)}, because there is no controller here")
    advertised = _entries(variables.get(_ADVERTISED, ""))
    if not advertised:
        variables.pop(_ADVERTISED, None)
        return
    # The value of the image itself has no names. Kafka's variables always have them.
    if _SCHEME not in variables.get(_LISTENERS, "") and all(_SCHEME in entry for entry in advertised):
        variables[_LISTENERS] = ",".join(_on_all_interfaces(entry) for entry in advertised)
    own_name = variables.get("HOSTNAME", "")  # of the container, set by the engine
    variables[_ADVERTISED] = ",".join(entry.replace("://:", f"://{own_name}:") for entry in advertised)


def _is_about(variable: str, listeners: Iterable[str]) -> bool:
    """Return True if a variable is a setting of one of these listeners."""
    return variable.upper().startswith(tuple(f"KAFKA_LISTENER_NAME_{each}_" for each in listeners))


def _entries(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",") if entry.strip()]


def _on_all_interfaces(entry: str) -> str:
    """Return PLAINTEXT://0.0.0.0:9092 for PLAINTEXT://kafka:9092."""
    return f"{entry.partition(_SCHEME)[0]}{_SCHEME}0.0.0.0:{entry.rpartition(':')[2]}"


def with_address_of_a_published_port(config: Config, note: Note) -> Config:
    """Return the settings, with the port on localhost as the advertised address if no setting is about addresses.

    Apache's image does so, too: `docker run -p 9092:9092` is enough for clients on the same machine.
    """
    is_given = config.advertised_listeners or config.cluster_nodes or config.is_shared or config.workers > 1
    if is_given or _SCHEME in config.listeners:
        return config
    address = f"localhost:{config.listen_address.port}"
    note(f"clients are told to connect to {address}; for clients elsewhere set {_ADVERTISED}, as PLAINTEXT://host:port")
    return replace(config, advertised_listeners=address)
