"""The rights of a client in one request, with an audit log in the words of Kafka's.

A refusal is one line of level INFO, and what is allowed one of level DEBUG. A client that tries again is named once a
minute for each kind of operation and resource. Names from clients are escaped by the log's format.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from coordinator.security.acl.authorizer import SUPPORTED_BITS
from coordinator.security.acl.hosts import host_of
from coordinator.security.principal import INTERNAL
from coordinator.server.line_limit import rare
from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from coordinator.security.acl.access import Access
    from coordinator.security.acl.authorizer import Authorizer
    from coordinator.security.acl.model import AclOperation, Resource, ResourceType
    from coordinator.security.principal import Principal

LOG: Final = logging.getLogger("coordinator.authorizer")
_LINE: Final = (
    "Principal = %s is %s operation = %s from host = %s on resource = %s:LITERAL:%s for request = %s with "
    "resourceRefCount = %d based on rule %s"
)


def access_of(authorizer: Authorizer, principal: Principal, host: str, api_key: int) -> Access:
    """Return the rights of a client. Parts of this daemon have all."""
    return FULL_ACCESS if principal.type == INTERNAL else AuditedAccess(authorizer, principal, host, api_key)


class FullAccess:
    """Implements `coordinator.security.acl.access.Access` for parts of this daemon."""

    def may(self, operation: AclOperation, resource: Resource, *, is_logged: bool = True, count: int = 1) -> bool:
        return True

    def may_on_any(self, operation: AclOperation, resource_type: ResourceType) -> bool:
        return True

    def operations(self, resource: Resource) -> int:
        return SUPPORTED_BITS[resource.type]


FULL_ACCESS: Final = FullAccess()


class AuditedAccess:
    """Implements `coordinator.security.acl.access.Access`."""

    __slots__ = ("_api_key", "_authorizer", "_host", "_principal", "_refused")

    def __init__(self, authorizer: Authorizer, principal: Principal, host: str, api_key: int) -> None:
        self._authorizer = authorizer
        self._principal = str(principal)
        self._host = host_of(host)
        self._api_key = api_key
        self._refused: set[tuple[AclOperation, ResourceType]] = set()

    def may(self, operation: AclOperation, resource: Resource, *, is_logged: bool = True, count: int = 1) -> bool:
        is_allowed = self._authorizer.allows(self._principal, self._host, operation, resource)
        if is_logged and (not is_allowed or LOG.isEnabledFor(logging.DEBUG)):
            self._log(operation, resource, count, is_allowed=is_allowed)
        return is_allowed

    def _log(self, operation: AclOperation, resource: Resource, count: int, *, is_allowed: bool) -> None:
        kind = operation, resource.type
        if not is_allowed:
            if kind in self._refused or not LOG.isEnabledFor(logging.INFO):
                return  # a request may have thousands of topics, and the limit would drop the others
            self._refused.add(kind)
        LOG.log(
            logging.DEBUG if is_allowed else logging.INFO,
            _LINE,
            self._principal,
            "Allowed" if is_allowed else "Denied",
            operation.name,
            self._host,
            resource.type.title,
            resource.name,
            ApiKey(self._api_key).name.title().replace("_", ""),
            count,
            self._authorizer.reason(self._principal, self._host, operation, resource),
            extra=None if is_allowed else rare(f"refused {kind}", f"{self._host} {self._principal}"),
        )

    def may_on_any(self, operation: AclOperation, resource_type: ResourceType) -> bool:
        return self._authorizer.allows_on_any(self._principal, self._host, operation, resource_type)

    def operations(self, resource: Resource) -> int:
        allowed = self._authorizer.allowed(self._principal, self._host, resource)
        return allowed & SUPPORTED_BITS[resource.type]
