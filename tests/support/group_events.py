"""The events of groups as clients see them: by ExplainGroup, and by a consumer of their topic."""

from __future__ import annotations

import asyncio

from coordinator.core.events.model import AnyEvent, Rebalance, decode_event, decode_story
from coordinator.core.shard import partition_for
from coordinator.core.topics.names import EVENTS_TOPIC
from protocol.error_codes import ErrorCode
from protocol.messages.explain_group import ExplainGroupRequest
from tests.support.wire import call

PARTITIONS = 8  # of the offsets log, and so of the topic


def story(port: int, group: str) -> list[AnyEvent]:
    """Return the events of a group in memory."""
    answer = call(port, ExplainGroupRequest(group_id=group), 0)
    if answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        return []
    assert answer.error_code == ErrorCode.NONE, answer
    return decode_story(answer.story).events


async def read_topic(address: str, at_least: int) -> list[AnyEvent]:
    """Read all partitions with a group of its own, as any application would."""
    from aiokafka import AIOKafkaConsumer

    consumer = AIOKafkaConsumer(
        EVENTS_TOPIC, bootstrap_servers=address, group_id="auditors", auto_offset_reset="earliest"
    )
    await consumer.start()
    found: list[AnyEvent] = []
    try:
        async with asyncio.timeout(30):
            while len([event for event in found if event.group != "auditors"]) < at_least:
                message = await consumer.getone()
                event = decode_event(message.value)
                assert message.key == event.group.encode()
                assert message.partition == partition_for(event.group, PARTITIONS)
                if isinstance(event, Rebalance):
                    assert message.timestamp == event.at_ms
                found.append(event)
        await consumer.commit()
    finally:
        await consumer.stop()
    return found
