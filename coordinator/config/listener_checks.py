"""Checks of the settings of listeners against each other, before anything is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.config.listeners import HTTP
from coordinator.config.node_link_checks import check_node_links
from coordinator.config.security import OAUTHBEARER, parse_mechanisms
from coordinator.config.values import ALL_INTERFACES, ConfigError

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.config.listeners import Endpoint


def check_listeners_together(config: Config) -> None:
    """Raise ConfigError if the settings of the listeners contradict each other, or if one is incomplete."""
    listeners = config.client_listeners
    names = [each.name for each in listeners]
    for name in config.advertised_addresses:
        if name not in names:
            raise ConfigError(
                f"advertised.listeners has {name}, which listeners does not have; name it there, or remove it here"
            )
    for name, _, _ in config.listener_settings:
        if name not in (*names, HTTP):
            raise ConfigError(
                f"a setting begins with listener.name.{name.lower()}, and listeners has no {name}; correct the name"
            )
    if HTTP in names:
        raise ConfigError("a listener is named HTTP, which is the name of http.listen; give it another name")
    for listener in listeners:
        _check_one(listener, config.of_listener(listener.name))
    if config.workers > 1:
        _check_worker_ports(config)
    if config.cluster_nodes or config.is_shared:
        check_node_links(config)


def _check_worker_ports(config: Config) -> None:
    """Raise ConfigError if a worker would need the port of another one."""
    taken: list[tuple[str, int, str]] = []
    for listener in config.client_listeners:
        host, port = listener.address
        ports = config.worker_ports_of(listener.name)
        if ports and len(ports) != config.workers:
            raise ConfigError(
                f"worker.ports has {len(ports)} ports for {config.workers} workers on the listener {listener.name}; "
                "give one for each"
            )
        own = ports or [port + number for number in range(config.workers) if port]
        for other_host, other_port, other in taken:
            if other_port in own and (host == other_host or {host, other_host} & set(ALL_INTERFACES)):
                raise ConfigError(
                    f"{config.workers} workers take consecutive ports, and both {other} and {listener.name} would need "
                    f"port {other_port}; put their ports further apart in listeners"
                )
        taken += [(host, each, listener.name) for each in own]


def _check_one(listener: Endpoint, config: Config) -> None:
    if listener.has_tls and not (config.ssl_keystore_location or config.ssl_keystore_key):
        raise ConfigError(
            f"the listener {listener.name} has TLS and no key; set ssl.keystore.location to a PEM file with the "
            "private key and its certificate chain"
        )
    if not listener.has_sasl:
        return
    mechanisms = parse_mechanisms(config.sasl_enabled_mechanisms)
    if not mechanisms:
        raise ConfigError(
            f"the listener {listener.name} has SASL and no mechanism; set sasl.enabled.mechanisms, as SCRAM-SHA-512"
        )
    if OAUTHBEARER in mechanisms:
        _check_tokens(listener, config)


def _check_tokens(listener: Endpoint, config: Config) -> None:
    if not config.sasl_oauthbearer_jwks_endpoint_url:
        raise ConfigError(
            f"the listener {listener.name} takes tokens (OAUTHBEARER) and has no keys for them; set "
            "sasl.oauthbearer.jwks.endpoint.url"
        )
    for name in ("audience", "issuer"):
        if not (
            getattr(config, f"sasl_oauthbearer_expected_{name}")
            or getattr(config, f"sasl_oauthbearer_allow_unverified_{name}")
        ):
            raise ConfigError(
                f"the listener {listener.name} would take tokens of any {name}; set sasl.oauthbearer.expected.{name} "
                f"(or sasl.oauthbearer.allow.unverified.{name}=true, which is not secure)"
            )
