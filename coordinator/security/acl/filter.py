"""The filter of DescribeAcls and DeleteAcls, for names and for kinds of patterns.

Source: Kafka's `AclBindingFilter`, `ResourcePatternFilter` and `AccessControlEntryFilter`.
"""

from __future__ import annotations

from typing import NamedTuple

from coordinator.security.acl.model import WILDCARD, AclBinding, AclOperation, PatternType, Permission, ResourceType


class AclBindingFilter(NamedTuple):
    """The rules that are asked for. None and ANY match everything."""

    resource_type: ResourceType = ResourceType.ANY
    name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission: Permission = Permission.ANY

    def matches(self, binding: AclBinding) -> bool:
        return (
            (self.resource_type == ResourceType.ANY or self.resource_type == binding.resource_type)
            and self._matches_pattern(binding)
            and (self.principal is None or self.principal == binding.principal)
            and (self.host is None or self.host == binding.host)
            and (self.operation == AclOperation.ANY or self.operation == binding.operation)
            and (self.permission == Permission.ANY or self.permission == binding.permission)
        )

    def _matches_pattern(self, binding: AclBinding) -> bool:
        if self.pattern_type not in (PatternType.ANY, PatternType.MATCH, binding.pattern_type):
            return False
        if self.name is None or self.name == binding.name:
            return True
        if self.pattern_type != PatternType.MATCH:
            return False
        if binding.pattern_type == PatternType.PREFIXED:
            return self.name.startswith(binding.name)
        return binding.name == WILDCARD

    def only(self) -> AclBinding | None:
        """Return the one rule that the filter can match; None if it can match several."""
        name, principal, host = self.name, self.principal, self.host
        if name is None or principal is None or host is None:
            return None
        if self.resource_type == ResourceType.ANY or self.pattern_type in (PatternType.ANY, PatternType.MATCH):
            return None
        if self.operation == AclOperation.ANY or self.permission == Permission.ANY:
            return None
        return AclBinding(self.resource_type, name, self.pattern_type, principal, host, self.operation, self.permission)
