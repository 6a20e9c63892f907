"""The clients whose heartbeats may be parked: an allow-list, because other clients stop consuming meanwhile.

A client is known by the software name of its ApiVersions, and by its client id only if it sends no name. An operator
who knows the library of such a client puts its id into the list (docs/parked-heartbeats.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.config.values import parse_parked_clients

if TYPE_CHECKING:
    from coordinator.config.config import Config


class ParkingClients:
    """Decides once for each connection. While parking is off it includes none of them."""

    __slots__ = ("_client_ids", "_config", "_names")

    def __init__(self, config: Config) -> None:
        self._config = config
        self._names = parse_parked_clients(config.group_heartbeat_park_clients)
        self._client_ids = parse_parked_clients(config.group_heartbeat_park_client_ids)

    def include(self, software_name: str, client_id: str) -> bool:
        """Return whether heartbeats of a client may be parked."""
        if not self._config.group_heartbeat_park_ms:
            return False
        return self._names.include(software_name) if software_name else self._client_ids.include(client_id)
