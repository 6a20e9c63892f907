"""Topics that a request names by their ids, for a core that knows topics by name.

A handler gives the topics of the request their names before the core sees it, and has the answer completed with ids.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from coordinator.server.api.refused_topics import refused_first
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from coordinator.core.effects import Ticket
    from coordinator.core.topics.catalogue import Catalogue

_UNKNOWN_TOPIC_ID: Final = int(ErrorCode.UNKNOWN_TOPIC_ID)
id_of: Final = attrgetter("topic_id")


class IdsOfTopics:
    """Completes an answer of which every id is known: topics get their ids, and nothing else changes.

    So such a request may be recognised when it is repeated.
    """

    __slots__ = ("_ids",)

    def __init__(self, ids: Mapping[str, bytes]) -> None:
        self._ids = ids

    def __call__(self, response: Any) -> Any:
        for topic in response.topics:
            topic.topic_id = self._ids[topic.name]
        return response


def with_unknown_ids(
    asked: Iterable[Any], response: Any, topic_type: Callable[..., Any], partition_type: Callable[[int, int], Any]
) -> Any:
    """Add the topics whose ids are not known to an answer about the others."""
    parts = refused_first(
        asked, response.topics, id_of, lambda topic: 0 if topic.name else _UNKNOWN_TOPIC_ID, partition_type
    )
    response.topics = [topic_type(topic_id=topic_id, partitions=some) for topic_id, some in parts.items()]
    return response


def add_names(topics: Iterable[Any], catalogue: Catalogue) -> list[Any]:
    """Give the topics of a request their names. Return those whose ids are not known; their names are empty."""
    unknown = []
    for topic in topics:
        found = catalogue.by_id(topic.topic_id)
        topic.name = "" if found is None else found.name
        if found is None:
            unknown.append(topic)
    return unknown


def amend_first(ticket: Ticket, amend: Callable[[Any], Any]) -> None:
    """Have the answer to a request completed by `amend`, before what completes it already."""
    later = ticket.amend
    ticket.amend = amend if later is None else lambda response: later(amend(response))
