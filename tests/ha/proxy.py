"""A TCP proxy between one node and one address of its engine, so that this node alone can be cut off."""

from __future__ import annotations

from enum import Enum

from tests.support.tcp_proxy import TcpProxy

EVER_S = 86_400.0


class Way(Enum):
    """The ways to break a link. A link that is healed resets its connections: bytes of them are missing."""

    SILENT = "nothing passes, and connections stay"
    REFUSING = "connections are reset, and new ones at once"
    ANSWERLESS = "requests pass, and answers do not"


class EngineProxy(TcpProxy):
    """A proxy that is broken and healed, and aimed at another server when its own has been replaced."""

    def aim(self, host: str, port: int) -> None:
        """Forward new connections to another address."""
        self._target = host, port

    def break_off(self, way: Way) -> None:
        if way is Way.SILENT:
            self.delay_s = EVER_S
        elif way is Way.REFUSING:
            self.refuses = True
            self.cut()
        else:
            self.drops_answers = True

    def heal(self) -> None:
        self.delay_s = 0.0
        self.refuses = self.drops_answers = False
        self.cut()
