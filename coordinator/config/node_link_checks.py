"""Checks of the settings by which the nodes of a cluster connect to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.config.security import parse_super_users
from coordinator.config.values import ConfigError

if TYPE_CHECKING:
    from coordinator.config.config import Config

NODE_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def check_node_links(config: Config) -> None:
    """Raise ConfigError if a node could not find the others, or not prove to them that it is one."""
    _check_addresses(config)
    listeners = config.client_listeners
    wanted = config.inter_broker_listener_name.upper()
    link = config.inter_broker_listener
    if wanted and wanted != link.name:
        raise ConfigError(
            f"inter.broker.listener.name is {wanted}, which listeners does not have; add it there, or name one of "
            f"{', '.join(each.name for each in listeners)}"
        )
    if not config.has_node_logins:
        # With log.engine the users are in the store, and not exchanged.
        if not config.is_shared and (config.has_authorizer or any(each.has_sasl for each in listeners)):
            raise ConfigError(
                f"the nodes connect to each other over the listener {link.name}, which asks for no proof of who they "
                "are, so that a stranger could pass for one and read the users; give it SASL, or TLS with "
                "ssl.client.auth=required, or set inter.broker.listener.name to one that has it"
            )
        return
    if link.has_sasl:
        _check_login(config)
    elif not parse_super_users(config.super_users):
        raise ConfigError(
            f"the nodes show certificates to each other on the listener {link.name}, but super.users is empty; put the "
            "principals of all nodes there, as User:CN=node1,O=example"
        )


def _check_addresses(config: Config) -> None:
    nodes = config.node_addresses
    for listener in config.client_listeners:
        if config.is_first_listener(listener.name):
            continue
        addresses = config.node_addresses_of(listener.name)
        key = f"listener.name.{listener.name.lower()}.cluster.nodes"
        if not addresses:
            raise ConfigError(
                f"the clients of the listener {listener.name} need the addresses of all nodes on it; set {key}, as "
                "1@host:port,2@host:port"
            )
        if nodes and addresses.keys() != nodes.keys():
            raise ConfigError(
                f"{key} has the nodes {', '.join(map(str, addresses))}, and cluster.nodes has "
                f"{', '.join(map(str, nodes))}; give both the same nodes"
            )
        if config.node_id not in addresses:
            raise ConfigError(f"{key} does not have this node, {config.node_id}; add it")


def _check_login(config: Config) -> None:
    link = config.inter_broker_listener
    mechanism = config.sasl_mechanism_inter_broker_protocol
    if mechanism not in NODE_MECHANISMS:
        raise ConfigError(
            f"sasl.mechanism.inter.broker.protocol is {mechanism}, by which a node cannot log in; write one of "
            f"{', '.join(NODE_MECHANISMS)}"
        )
    own = config.of_listener(link.name)
    enabled = [each.strip().upper() for each in own.sasl_enabled_mechanisms.split(",")]
    if mechanism not in enabled:
        raise ConfigError(
            f"the nodes log in to each other by {mechanism}, which the listener {link.name} does not take; add it to "
            "sasl.enabled.mechanisms, or set sasl.mechanism.inter.broker.protocol"
        )
