"""A Kafka and a daemon of ours, set up alike: with the same topics, or also with users and access rules.

A `SecuredPair` has two listeners on each side. On PLAINTEXT every client is the super user ANONYMOUS, which makes and
removes rules. On SASL the users of `side.USERS` log in by PLAIN; they have no rights but those of the rules.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from coordinator.security.credentials import document_of
from coordinator.security.scram import SCRAM_SHA_256, credential_of
from coordinator.storage.file_names import USERS_NAME
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from tests.conformance.acl_generator import AclGenerator
from tests.conformance.acl_lockstep import AclLockstep
from tests.conformance.consumer_generator import ConsumerGenerator
from tests.conformance.consumer_lockstep import ConsumerLockstep
from tests.conformance.generator import Generator
from tests.conformance.kafka import Kafka, _free_ports
from tests.conformance.lockstep import (
    KAFKA_SETTINGS,
    OUR_OVERRIDES,
    SETTINGS,
    SHORT_SESSIONS,
    TOPICS,
    Lockstep,
    Outcome,
    overrides,
    retried,
)
from tests.conformance.mixed_generator import MixedGenerator
from tests.conformance.script import APIS, Script
from tests.conformance.side import USERS
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.secured import Listening
from tests.support.wire import call

RULES: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "sasl.enabled.mechanisms": "PLAIN",
    "auto.create.topics.enable": "false",
}
LISTENERS: Final = {"PLAINTEXT": "PLAINTEXT", "SASL": "SASL_PLAINTEXT"}
_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@dataclass(frozen=True, slots=True)
class Pair:
    """A Kafka and a daemon of ours, set up alike."""

    kafka_port: int
    our_port: int
    versions: dict[str, range]
    share: float = 0.5  # of scripts with KIP-848 groups
    mixed: bool = False  # members of both protocols in one group
    has_short_sessions: bool = False  # of members of KIP-848 groups

    def lockstep(self) -> Lockstep:
        return ConsumerLockstep(self.kafka_port, self.our_port, has_short_sessions=self.has_short_sessions)

    def generator(self, seed: str, steps: int) -> Generator:
        if random.Random(f"protocol of {seed}").random() < self.share:
            make = MixedGenerator if self.mixed else ConsumerGenerator
            return make(seed, steps, self.versions, has_short_sessions=self.has_short_sessions)
        return Generator(seed, steps, self.versions)

    async def replay(self, script: Script) -> Outcome:
        return await retried(self.lockstep, script)


@dataclass(frozen=True, slots=True)
class SecuredPair(Pair):
    """Both with access rules, which are those of one script at a time."""

    kafka_sasl_port: int = 0
    our_sasl_port: int = 0
    controller_port: int = 0

    def lockstep(self) -> Lockstep:
        sasl_ports = self.kafka_sasl_port, self.our_sasl_port
        return AclLockstep(self.kafka_port, self.our_port, sasl_ports, self.controller_port)

    def generator(self, seed: str, steps: int) -> Generator:
        return AclGenerator(seed, steps, self.versions)


@contextmanager
def pair(
    directory: Path, *, environment: Mapping[str, str] | None = None, has_short_sessions: bool = False
) -> Iterator[Pair]:
    """Both servers, with the same topics."""
    more = SHORT_SESSIONS if has_short_sessions else {}
    kafka = Kafka(directory / "kafka", settings={**KAFKA_SETTINGS, **more})
    ours = Daemon(directory / "ours", overrides=overrides({**SETTINGS, **more}), environment=environment)
    with kafka, ours:
        for name, partitions in TOPICS.items():
            kafka.create_topic(name, partitions)
            ours.create_topic(name, partitions)
        versions = versions_of_both(kafka.port, ours.port)
        yield Pair(kafka.port, ours.port, versions, has_short_sessions=has_short_sessions)


@contextmanager
def secured_pair(directory: Path, *, environment: Mapping[str, str] | None = None) -> Iterator[SecuredPair]:
    """Both servers, with the same topics, an authorizer and users."""
    kafka, kafka_sasl_port = secured_kafka(directory / "kafka")
    ours = secured_daemon(directory / "ours", environment=environment)
    with kafka, ours:
        for name, partitions in TOPICS.items():
            kafka.create_topic(name, partitions)
            ours.create_topic(name, partitions)
        await_producer_ids(kafka)
        versions = versions_of_both(kafka.port, ours.port)
        yield SecuredPair(
            kafka.port,
            ours.port,
            versions,
            kafka_sasl_port=kafka_sasl_port,
            our_sasl_port=ours.ports["SASL"],
            controller_port=kafka._controller_port,
        )


def await_producer_ids(kafka: Kafka) -> None:
    """Wait until a Kafka has ids for producers, which it asks its controller for when it is first asked."""
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
    eventually(lambda: call(kafka.port, request, 4).error_code == 0, "Kafka has ids for producers")


def secured_kafka(
    directory: Path, users: Iterable[str] = USERS[1:], settings: Mapping[str, str] = RULES
) -> tuple[Kafka, int]:
    """Return a Kafka that is not started yet, and the port at which users log in. Their names are their passwords."""
    logins = " ".join(f'user_{user}="{user}"' for user in users)
    kafka = Kafka(directory, settings={**KAFKA_SETTINGS, **settings})
    (sasl_port,) = _free_ports(1)
    addresses = f"PLAINTEXT://127.0.0.1:{kafka.port},SASL://127.0.0.1:{sasl_port}"
    kafka._settings |= {
        "listeners": f"{addresses},CONTROLLER://127.0.0.1:{kafka._controller_port}",
        "advertised.listeners": addresses,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT",
        "listener.name.sasl.plain.sasl.jaas.config": f"{_PLAIN} {logins};",
    }
    return kafka, sasl_port


def secured_daemon(
    directory: Path,
    users: Iterable[str] = USERS[1:],
    settings: Mapping[str, str] = RULES,
    *,
    environment: Mapping[str, str] | None = None,
) -> Listening:
    """Return a daemon that is not started yet."""
    daemon = Listening(directory, LISTENERS, settings, overrides=OUR_OVERRIDES, environment=environment)
    credentials = {user: {SCRAM_SHA_256: credential_of(SCRAM_SHA_256, user, b"salt", 4096)} for user in users}
    (daemon.data_dir / USERS_NAME).write_text(document_of(credentials))
    return daemon


def versions_of_both(kafka_port: int, our_port: int) -> dict[str, range]:
    """Return, for each API of the scripts, the versions that both servers advertise."""
    served = []
    for port in (kafka_port, our_port):
        answer = call(port, ApiVersionsRequest(), 0)
        served.append({each.api_key: (each.min_version, each.max_version) for each in answer.api_keys})
    return {
        name: range(max(each[key][0] for each in served), min(each[key][1] for each in served) + 1)
        for name, key in APIS.items()
    }
