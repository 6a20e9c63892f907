"""The way in which the console asks a test server that wants TLS, a login or rights, over all runs of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.server.listening import needs_internal
from coordinator.server.node_links import NodeLinks, Way

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.server.internal_listener import InternalListener


class ConsoleEntrance:
    """`links` is for the console, and always leads to the newest run."""

    def __init__(self, config: Config) -> None:
        self.links = NodeLinks()
        self._node_id = config.node_id
        self._is_needed = needs_internal(config)

    def open(self) -> InternalListener | None:
        """Return a listener for the next run of the server; None if the console can use the first listener."""
        if not self._is_needed:
            return None
        from coordinator.server.internal_listener import (  # late: rarely needed
            InternalListener,
            bind_internal,
            new_login,
        )

        opened = InternalListener(bind_internal(), new_login())
        self.links.reach(self._node_id, Way(opened.address, opened.login))
        return opened
