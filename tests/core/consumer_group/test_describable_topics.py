"""Topics that a client may not DESCRIBE, and the regular expressions that match them."""

from __future__ import annotations

from collections.abc import Iterable

from coordinator.core.effects import Describable
from tests.support.consumer_world import ConsumerWorld


def only(*names: str) -> Describable:
    """Return a filter that lets these topics pass."""

    def describable(some: Iterable[str]) -> set[str]:
        return set(some) & set(names)

    return describable


def test_they_are_left_out() -> None:
    world = ConsumerWorld({"orders-eu": 2, "orders-us": 2, "other": 1})
    world.beat("A", 0, subscribed_topic_regex="orders-.*", describable=only("orders-eu", "other"))
    assert world.told(world.beat("A", 1)) == (2, {"orders-eu": [0, 1]})


def test_the_client_whose_heartbeat_resolves_decides_for_all() -> None:
    world = ConsumerWorld({"orders-eu": 1, "orders-us": 1})
    world.beat("A", 0, subscribed_topic_regex="orders-.*")
    assert world.told(world.beat("A", 1)) == (2, {"orders-eu": [0], "orders-us": [0]})
    world.advance("11s")
    world.topics_image.create("orders-uk", 1)
    world.beat("A", 2, describable=only("orders-uk"))
    assert world.told(world.beat("A", 2, owned={"orders-eu": [0], "orders-us": [0]})) == (2, {})


def test_topics_that_are_named_are_not_filtered_here() -> None:
    world = ConsumerWorld({"orders-eu": 1, "named": 1})
    call = world.beat("A", 0, topics=["named"], subscribed_topic_regex="orders-.*", describable=only())
    assert world.told(call) == (2, {"named": [0]})
    assert world.told(world.beat("A", 2)) == (2, None)


def test_very_many_are_filtered_in_steps() -> None:
    seen: list[int] = []

    def describable(some: Iterable[str]) -> set[str]:
        names = list(some)
        seen.append(len(names))
        return set(names[:1])

    world = ConsumerWorld({f"t{number:03}": 1 for number in range(600)})
    world.beat("A", 0, subscribed_topic_regex="t.*", describable=describable)
    assert seen == [250, 250, 100]
    assert world.told(world.beat("A", 1)) == (2, {"t000": [0], "t250": [0], "t500": [0]})
