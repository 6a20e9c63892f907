"""The protocols that a member offers in a JoinGroup: each name once, and equal lists as one object."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING

from coordinator.core.group.group import MAX_CACHED_BYTES, size_of
from coordinator.core.group.member import Protocols

if TYPE_CHECKING:
    from protocol.messages.join_group import JoinGroupRequest


def protocols_of(request: JoinGroupRequest) -> Protocols:
    """Return the protocols of a member, in its order of preference."""
    protocols = tuple((sys.intern(protocol.name), protocol.metadata) for protocol in request.protocols)
    if len(protocols) > 1 and len({name for name, _ in protocols}) < len(protocols):
        first: dict[str, bytes] = {}
        for name, metadata in protocols:
            first.setdefault(name, metadata)
        protocols = tuple(first.items())
    return protocols if size_of(protocols) > MAX_CACHED_BYTES else _shared(protocols)


@lru_cache(256)
def _shared(protocols: Protocols) -> Protocols:
    """Return one object for equal lists, because groups of one application send the same ones."""
    return protocols
