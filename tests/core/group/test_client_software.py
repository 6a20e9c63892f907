"""A member remembers the software of its client."""

from __future__ import annotations

from coordinator.core.effects import UNKNOWN_SOFTWARE, ClientSoftware
from coordinator.core.group.member import Member
from tests.support.cluster import Cluster

JAVA = ClientSoftware("apache-kafka-java", "4.4.0")
KGO = ClientSoftware("kgo", "1.22.2")


def only_member(cluster: Cluster) -> Member:
    (member,) = cluster.group().members.values()
    return member


def test_a_new_member_has_the_software_of_its_join(cluster: Cluster) -> None:
    cluster.stable_group(members=1, software=JAVA)
    assert only_member(cluster).client_software == JAVA


def test_a_rejoin_with_another_software_changes_it(cluster: Cluster) -> None:
    (member,) = cluster.stable_group(members=1, software=JAVA)
    member.join(software=KGO)
    assert only_member(cluster).client_software == KGO


def test_the_next_run_of_a_static_member_brings_its_own(cluster: Cluster) -> None:
    cluster.stable_group(members=1, instance_ids=["i"], software=JAVA)
    cluster.member(instance_id="i", software=KGO).join()
    assert only_member(cluster).client_software == KGO


def test_a_replacement_that_fails_gives_the_old_one_back(cluster: Cluster) -> None:
    cluster.stable_group(members=1, instance_ids=["i"], software=JAVA)
    with cluster.log_held():
        cluster.member(instance_id="i", software=KGO).join()
        cluster.fail_appends()
    assert only_member(cluster).client_software == JAVA


def test_after_a_start_the_first_heartbeat_brings_it(cluster: Cluster) -> None:
    (member,) = cluster.stable_group(members=1, software=JAVA)
    cluster.crash_and_recover()
    assert only_member(cluster).client_software is UNKNOWN_SOFTWARE
    member.heartbeat()
    assert only_member(cluster).client_software == JAVA


def test_a_heartbeat_does_not_replace_a_known_one(cluster: Cluster) -> None:
    (member,) = cluster.stable_group(members=1, software=JAVA)
    member.software = KGO
    member.heartbeat()
    assert only_member(cluster).client_software == JAVA
