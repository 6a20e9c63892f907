"""The words of access rules, under Kafka's numbers on the wire and Kafka's names in commands.

Source: `ResourceType`, `PatternType`, `AclOperation`, `AclPermissionType` and `AclBinding` of Kafka's clients.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple, Self, TypeAlias

WILDCARD: Final = "*"  # as the name of a resource, as a host, and as the name of a user
CLUSTER_NAME: Final = "kafka-cluster"


class _Word(IntEnum):
    """A word with its number. A number of a later Kafka is UNKNOWN, which is 0 (`fromCode`)."""

    @classmethod
    def _missing_(cls, value: object) -> Self:
        return cls(0)

    @property
    def title(self) -> str:
        """Return the name as commands and the audit log have it: DescribeConfigs (`SecurityUtils`)."""
        return self.name.title().replace("_", "")


class ResourceType(_Word):
    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(_Word):
    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclOperation(_Word):
    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Permission(_Word):
    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class AclBinding(NamedTuple):
    """One rule. `principal` is type:name, as User:alice or User:*."""

    resource_type: ResourceType
    name: str
    pattern_type: PatternType
    principal: str
    host: str
    operation: AclOperation
    permission: Permission


AclBindings: TypeAlias = Mapping[AclBinding, None]  # a set, in the order in which they were added


class Resource(NamedTuple):
    """One resource that a request touches."""

    type: ResourceType
    name: str


CLUSTER: Final = Resource(ResourceType.CLUSTER, CLUSTER_NAME)

# The operations that each type of resource has (`AclEntry.supportedOperations`).
OPERATIONS: Final[Mapping[ResourceType, tuple[AclOperation, ...]]] = {
    ResourceType.TOPIC: (
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.CREATE,
        AclOperation.DELETE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (
        AclOperation.READ,
        AclOperation.DELETE,
        AclOperation.DESCRIBE,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    ),
    ResourceType.CLUSTER: (
        AclOperation.CREATE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.CLUSTER_ACTION,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
        AclOperation.IDEMPOTENT_WRITE,
    ),
    ResourceType.TRANSACTIONAL_ID: (AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.TWO_PHASE_COMMIT),
    ResourceType.DELEGATION_TOKEN: (AclOperation.DESCRIBE,),
    ResourceType.USER: (AclOperation.CREATE_TOKENS, AclOperation.DESCRIBE_TOKENS),
}
