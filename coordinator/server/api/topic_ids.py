"""Topics that a request names by their ids, for a core that knows topics by name.

A handler gives the topics of the request their names before the core sees it, and has the answer completed with ids.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from coordinator.core.effects import Ticket
    from coordinator.core.topics.catalogue import Catalogue

id_of: Final = attrgetter("topic_id")


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
