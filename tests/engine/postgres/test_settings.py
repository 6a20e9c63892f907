"""The address in `log.engine`, without a database."""

from __future__ import annotations

import pytest

from coordinator.config.config import Config
from coordinator.engine.postgres.settings import DatabaseHost, PostgresSettings, read_settings
from coordinator.storage.log_store import LogStoreError


def settings(address: str) -> PostgresSettings:
    return read_settings(Config(log_engine=address, cluster_id="Prod-1"), 7)


@pytest.mark.parametrize(
    ("address", "hosts", "name"),
    [
        ("postgresql://db/kgc", [DatabaseHost("db", 5432)], "postgresql://db:5432/kgc"),
        (
            "postgresql://me@db1:6000,db2/kgc?sslmode=require",
            [DatabaseHost("db1", 6000), DatabaseHost("db2", 5432)],
            "postgresql://db1:6000,db2:5432/kgc",
        ),
        ("postgresql://[::1]:6000/kgc", [DatabaseHost("::1", 6000)], "postgresql://::1:6000/kgc"),
        ("postgresql://any/kgc?host=/run/postgresql", [], "postgresql://any/kgc"),
    ],
)
def test_hosts_and_name_of_an_address(address: str, hosts: list[DatabaseHost], name: str) -> None:
    found = settings(address)
    assert (list(found.hosts), found.name) == (hosts, name)


@pytest.mark.parametrize("address", ["postgresql://db1,/kgc", "postgresql://db:port/kgc", "postgresql://db/kgc?x"])
def test_an_address_that_cannot_be_understood_is_refused(address: str) -> None:
    with pytest.raises(LogStoreError, match=r"log\.engine cannot be understood .*; write postgresql://") as caught:
        settings(address)
    assert not caught.value.may_pass


def test_a_renewal_times_out_early_enough_for_a_second_one() -> None:
    found = settings("postgresql://db/kgc")
    assert (found.timeout_s, found.lease_timeout_s, found.long_timeout_s) == (5.0, 1.5, 30.0)


def test_the_session_attributes_of_the_address_are_kept() -> None:
    assert settings("postgresql://db/kgc").session_attrs is None
    assert settings("postgresql://db/kgc?target_session_attrs=primary").session_attrs == "primary"


def test_locks_of_two_clusters_are_apart() -> None:
    one = settings("postgresql://db/kgc")
    other = read_settings(Config(log_engine="postgresql://db/kgc", cluster_id="Prod-2"), 7)
    assert one.lock_class != other.lock_class
    assert one.lock_class == settings("postgresql://other/kgc").lock_class


def test_a_file_of_kafka_settings_is_refused() -> None:
    with pytest.raises(LogStoreError, match=r"log\.engine\.config\.file is for a log\.engine on Kafka; remove it"):
        read_settings(Config(log_engine="postgresql://db/kgc", log_engine_config_file="client.properties"), 7)
