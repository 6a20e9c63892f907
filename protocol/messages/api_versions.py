"""ApiVersions: the APIs that a server has. Its response header stays at version 0, so that any client can read it."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import BOOL, INT16, INT32, INT64, NULLABLE_STRING, STRING, array, field, message, struct


@message(ApiKey.API_VERSIONS, versions=(0, 5), flexible_since=3)
class ApiVersionsRequest:
    """Ask for the APIs and their versions, and introduce the client software.

    From version 5 on a client also names the cluster and the node that it means to reach (KIP-1242).
    """

    client_software_name: str = field(STRING, since=3)
    client_software_version: str = field(STRING, since=3)
    cluster_id: str | None = field(NULLABLE_STRING, since=5, default=None)  # None: any
    node_id: int = field(INT32, since=5, default=-1)  # -1: any


@struct
class ApiVersion:
    api_key: int = field(INT16)
    min_version: int = field(INT16)
    max_version: int = field(INT16)


@struct
class SupportedFeatureKey:
    name: str = field(STRING)
    min_version: int = field(INT16)
    max_version: int = field(INT16)


@struct
class FinalizedFeatureKey:
    name: str = field(STRING)
    max_version_level: int = field(INT16)
    min_version_level: int = field(INT16)


@message(ApiKey.API_VERSIONS, versions=(0, 5), flexible_since=3)
class ApiVersionsResponse:
    """The APIs with their versions, and the features of the cluster."""

    error_code: int = field(INT16)
    api_keys: list[ApiVersion] = field(array(ApiVersion))
    throttle_time_ms: int = field(INT32, since=1)
    supported_features: list[SupportedFeatureKey] = field(array(SupportedFeatureKey), since=3, tag=0)
    finalized_features_epoch: int = field(INT64, since=3, tag=1, default=-1)  # -1: unknown
    finalized_features: list[FinalizedFeatureKey] = field(array(FinalizedFeatureKey), since=3, tag=2)
    zk_migration_ready: bool = field(BOOL, since=3, tag=3)
