"""The quota that applies to a client: the first of eight levels that has one. Source: Kafka's `ClientQuotaManager`.

All clients for which a level gives the same tags share one rate: those of a user, those with a client id, or those with
both. A client without a client id has the quotas of its user alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from coordinator.security.quotas.model import CLIENT_ID, USER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordinator.security.quotas.model import Entity, QuotaMap

Tags: TypeAlias = tuple[str, str]
"""The user and the client id whose rate counts; empty: of every user, or with every client id."""

ANY: Final = ""


class QuotaLevel(NamedTuple):
    """An entity that may have a quota for a client, and the tags of the rate that it limits."""

    entity: Entity
    tags: Tags


class AppliedQuota(NamedTuple):
    """The quota of a client, and the tags of the rate that it limits."""

    quota: float
    tags: Tags


def levels(user: str, client_id: str) -> Iterator[QuotaLevel]:
    """Yield the levels of a client, the first to look at first."""
    if not client_id:
        yield QuotaLevel(((USER, user),), (user, ANY))
        yield QuotaLevel(((USER, None),), (user, ANY))
        return
    for name in (user, None):
        yield QuotaLevel(((CLIENT_ID, client_id), (USER, name)), (user, client_id))
        yield QuotaLevel(((CLIENT_ID, None), (USER, name)), (user, client_id))
        yield QuotaLevel(((USER, name),), (user, ANY))
    yield QuotaLevel(((CLIENT_ID, client_id),), (ANY, client_id))
    yield QuotaLevel(((CLIENT_ID, None),), (ANY, client_id))


def applied(quotas: QuotaMap, key: str, user: str, client_id: str) -> AppliedQuota | None:
    """Return the quota with this key for a client; None if there is none."""
    for level in levels(user, client_id):
        quota = quotas.get(level.entity, {}).get(key)
        if quota is not None:
            return AppliedQuota(quota, level.tags)
    return None
