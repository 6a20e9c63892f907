"""The interface between the rules and the APIs that they guard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from coordinator.security.acl.model import AclOperation, Resource, ResourceType


class Access(Protocol):
    """The rights of one principal at one address, in one request."""

    def may(self, operation: AclOperation, resource: Resource, *, is_logged: bool = True, count: int = 1) -> bool:
        """Return whether the operation is allowed; a refusal is written to the audit log if `is_logged`.

        `count`: how many parts of the request refer to the resource (resourceReferenceCount).
        """

    def may_on_any(self, operation: AclOperation, resource_type: ResourceType) -> bool:
        """Return whether the operation is allowed on at least one resource (Authorizer.authorizeByResourceType)."""

    def operations(self, resource: Resource) -> int:
        """Return the allowed operations as bits, as in fields named authorizedOperations."""
