"""The table of APIs: an API is served if it has a row here, and ApiVersions answers from it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from coordinator.server.api import (
    alter_configs,
    create_partitions,
    create_topics,
    delete_records,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_owners,
    describe_topic_partitions,
    elect_leaders,
    explain_group,
    fetch,
    find_coordinator,
    follow_catalogue,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_config_resources,
    list_offsets,
    metadata,
    offset_commit,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    sasl,
    sync_group,
)
from coordinator.server.api.api_versions import api_versions
from coordinator.server.api.chunked_responses import TOPICS, Array
from coordinator.server.api.handler import Api, Section
from protocol.api_keys import ApiKey

_ROWS: Final[dict[int, Api]] = {
    int(row.key): row
    for row in (
        produce.API,
        fetch.API,
        list_offsets.API,
        metadata.API,
        offset_commit.API,
        offset_fetch.API,
        find_coordinator.API,
        join_group.API,
        leave_group.API,
        sync_group.API,
        describe_groups.API,
        create_topics.API,
        delete_topics.API,
        delete_records.API,
        init_producer_id.API,
        offset_for_leader_epoch.API,
        describe_configs.API,
        alter_configs.API,
        describe_log_dirs.API,
        create_partitions.API,
        elect_leaders.API,
        incremental_alter_configs.API,
        describe_cluster.API,
        list_config_resources.API,
        describe_topic_partitions.API,
        sasl.HANDSHAKE,
        sasl.AUTHENTICATE,
        follow_catalogue.API,
        explain_group.API,
        describe_owners.API,
        Api(
            ApiKey.LIST_GROUP_FIGURES,
            0,
            0,
            amplifies=True,
            section=Section.OTHERS,
            does="For the console; not advertised to clients.",
        ),
        Api(
            ApiKey.HEARTBEAT,
            0,
            4,
            is_pipelined=True,
            is_sampled=True,
            section=Section.GROUPS,
            does="The answer may wait for news, for clients that bear it ([parked heartbeats](parked-heartbeats.md)).",
        ),
        Api(
            ApiKey.LIST_GROUPS,
            0,
            5,
            max_elements=1_000,
            chunked=((0, Array("groups", is_owned=True)),),
            amplifies=True,
            section=Section.GROUPS,
            does="Filters by state (from 4) and by type (from 5); every group is `classic`.",
        ),
        Api(
            ApiKey.DELETE_GROUPS,
            0,
            2,
            max_elements=20_000,
            chunked=((0, Array("results")),),
            amplifies=True,
            section=Section.GROUPS,
            refuses="Groups with members: NON_EMPTY_GROUP.",
        ),
        Api(
            ApiKey.OFFSET_DELETE,
            0,
            0,
            max_elements=12_000,
            chunked=TOPICS,
            section=Section.GROUPS,
            refuses="Topics that a member subscribes to: GROUP_SUBSCRIBED_TO_TOPIC.",
        ),
    )
}
_ROWS[int(ApiKey.API_VERSIONS)] = api_versions(_ROWS)
HANDLERS: Final[Mapping[int, Api]] = MappingProxyType(_ROWS)
