"""The principal of a connection: who its client is, to access rules and quotas (KafkaPrincipal)."""

from __future__ import annotations

from typing import Final, NamedTuple

USER: Final = "User"
INTERNAL: Final = "Internal"  # parts of this daemon; no client can have a principal of this type


class Principal(NamedTuple):
    """A type, and a name."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


ANONYMOUS: Final = Principal(USER, "ANONYMOUS")
