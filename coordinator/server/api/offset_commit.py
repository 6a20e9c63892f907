"""OffsetCommit (key 8), handled by `coordinator.core.offsets.commit`.

Versions 0 and 1 stored offsets in ZooKeeper and are not served. An unknown group is GROUP_ID_NOT_FOUND from 9 on;
before, ILLEGAL_GENERATION tells the same to a member.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.server.api.chunked_responses import TOPICS
from coordinator.server.api.handler import Api, Section
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from protocol.messages.offset_commit import OffsetCommitResponse

FIRST_WITH_GROUP_ID_NOT_FOUND: Final = 9
_GROUP_ID_NOT_FOUND: Final = int(ErrorCode.GROUP_ID_NOT_FOUND)


def shape(response: OffsetCommitResponse, version: int) -> OffsetCommitResponse:
    if version < FIRST_WITH_GROUP_ID_NOT_FOUND:
        for topic in response.topics:
            for partition in topic.partitions:
                if partition.error_code == _GROUP_ID_NOT_FOUND:
                    partition.error_code = int(ErrorCode.ILLEGAL_GENERATION)
    return response


API = Api(
    ApiKey.OFFSET_COMMIT,
    2,
    9,
    shape=shape,
    max_elements=12_000,
    is_pipelined=True,
    waits_for_log=True,
    is_sampled=True,
    chunked=TOPICS,
    section=Section.GROUPS,
    does="With a group, and without one (generation -1).",
    refuses=(
        "A topic that does not exist here, unless `offsets.commit.topic.check=false`: "
        "UNKNOWN_TOPIC_OR_PARTITION. Metadata beyond `offset.metadata.max.bytes`: "
        "OFFSET_METADATA_TOO_LARGE."
    ),
)
