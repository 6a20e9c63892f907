"""The table of APIs: what is served is what has a row here, and ApiVersions answers from it."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from coordinator.server.api import (
    alter_configs,
    api_versions,
    create_partitions,
    create_topics,
    delete_groups,
    delete_records,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_topic_partitions,
    elect_leaders,
    fetch,
    find_coordinator,
    follow_catalogue,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    sync_group,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coordinator.server.api.handler import Api

HANDLERS: Final[Mapping[int, Api]] = MappingProxyType(
    {
        int(module.API.key): module.API
        for module in (
            produce,
            fetch,
            list_offsets,
            metadata,
            offset_commit,
            offset_fetch,
            find_coordinator,
            join_group,
            heartbeat,
            leave_group,
            sync_group,
            describe_groups,
            list_groups,
            api_versions,
            create_topics,
            delete_topics,
            delete_records,
            init_producer_id,
            offset_for_leader_epoch,
            describe_configs,
            alter_configs,
            describe_log_dirs,
            create_partitions,
            delete_groups,
            elect_leaders,
            incremental_alter_configs,
            offset_delete,
            describe_cluster,
            list_config_resources,
            describe_topic_partitions,
            follow_catalogue,
        )
    }
)
