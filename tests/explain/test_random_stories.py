"""Clients that do anything in any order: there is a verdict, and every sentence is complete."""

from __future__ import annotations

import random

import pytest

from coordinator.cli.groups.explain import page
from coordinator.config.config import Config
from coordinator.explain.rules import explain
from protocol.error_codes import ErrorCode
from tests.explain.play import Play, protocols
from tests.support.scripted_member import Member

CLIENTS = ("web-1", "web-2", "web-2", "shop", "shop", "")  # two threads of one client, two processes of one instance


@pytest.mark.parametrize("seed", range(12))
def test_there_is_always_a_verdict(seed: int) -> None:
    chance = random.Random(seed)
    play = Play(Config(group_max_size=4, group_initial_rebalance_delay_ms=chance.choice([0, 3_000])))
    members = [
        play.client(name, instance_id="shop-1" if name == "shop" else None, session_timeout="6s") for name in CLIENTS
    ]
    members[0].join()
    for _ in range(150):
        act(chance, play, chance.choice(members))
        play.wait(f"{chance.choice([0, 200, 1_000, 4_000, 7_000, 70_000])}ms", *chance.sample(members, 2))
        verdicts = explain(play.story())
        positions = len(play.story().events)
        for verdict in verdicts:
            assert verdict.sentence and "  " not in verdict.sentence and "None" not in verdict.sentence
            assert all(0 <= position <= positions for position in verdict.evidence)
        assert page(play.story(), 3).startswith(verdicts[0].sentence)


def act(chance: random.Random, play: Play, member: Member) -> None:
    """Let a client do one thing, in its turn or not."""
    deed = chance.randrange(8)
    if deed == 0:
        member.member_id = ""
    if deed <= 2:
        member.join(protocols=protocols(*chance.sample(["orders", "refunds"], chance.choice([1, 2]))))
    elif deed == 3:
        member.join(protocols=protocols("orders", names=[chance.choice(["range", "sticky"])]))
    elif member.member_id and not member.is_waiting and member.last_join in play.cluster.calls:
        if deed == 4 and member.last_join.error is ErrorCode.NONE:
            member.sync({member.member_id: b"\0\0\0\0\0\0\0\0\0\0"} if member.is_leader else {})
        elif deed == 5:
            member.leave(chance.choice([None, "consumer poll timeout has expired.", "the consumer is being closed"]))
        elif deed == 6:
            member.commit({("orders", 0): 1}, generation=chance.randrange(4))
        else:
            member.heartbeat(generation=chance.randrange(6))
