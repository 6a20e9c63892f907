"""Recorder of corpus/sasl.json: the answers of a real Kafka to the sequences of `sasl_script`.

`python -m tests.conformance.record_sasl` needs Java and Kafka's jars. It plays the sequences twice. It ends with an
error if the runs differ, or if a step has another number of events than its sequence says.
"""

from __future__ import annotations

import json
import sys
import tempfile
from itertools import count
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from tests.conformance import sasl_script as sasl
from tests.conformance.kafka import Kafka, _free_ports, release

_USERS = " ".join(f'user_{user}="{password}"' for user, password in sasl.USERS.items())
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
_JAAS = {
    "plain": f"org.apache.kafka.common.security.plain.PlainLoginModule required {_USERS};",
    "scram-sha-256": _SCRAM,
    "scram-sha-512": _SCRAM,
}
_LONGEST = 400  # bytes of a frame that the record shows


def secured_kafka(directory: Path) -> tuple[Kafka, dict[str, int]]:
    """Return a Kafka that is not started yet, and the ports of its listeners."""
    kafka = Kafka(directory)
    ports = {sasl.PLAINTEXT: kafka.port, **dict(zip((sasl.SASL, sasl.REAUTH), _free_ports(2), strict=True))}
    addresses = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
    kafka._settings |= {
        "listeners": f"{addresses},CONTROLLER://127.0.0.1:{kafka._controller_port}",
        "advertised.listeners": addresses,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
        f"{sasl.SASL}:SASL_PLAINTEXT,{sasl.REAUTH}:SASL_PLAINTEXT",
        f"listener.name.{sasl.REAUTH.lower()}.connections.max.reauth.ms": str(sasl.MAX_REAUTH_MS),
        **sasl.SETTINGS,
    }
    for name in (sasl.SASL.lower(), sasl.REAUTH.lower()):
        for mechanism, module in _JAAS.items():
            kafka._settings[f"listener.name.{name}.{mechanism}.sasl.jaas.config"] = module
    return kafka, ports


def create_scram_users(address: str) -> None:
    admin = AdminClient({"bootstrap.servers": address})
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        how = ScramCredentialInfo(mechanism, 4096)
        wanted = [UserScramCredentialUpsertion(user, how, password.encode()) for user, password in sasl.USERS.items()]
        for done in admin.alter_user_scram_credentials(wanted).values():
            done.result(30)


def _recorded(sequence: sasl.Conversation, seen: list[list[sasl.Seen]]) -> list[dict[str, Any]]:
    """Return the steps of a sequence as data. The last element has the state of the connection after all steps."""
    numbers = count(1)
    sent = [_sent(step, numbers) for step in sequence.steps] + [["nothing more"]]
    return [
        {"sent": words, "events": [each.what for each in events], "delayed": [*map(sasl.is_delayed, events)]}
        for words, events in zip(sent, seen, strict=False)
    ]


def _sent(step: sasl.Step, numbers: count[int]) -> list[str]:
    found = []
    for part, number in zip(step.parts, numbers, strict=False):
        is_shown = "ScramFinal" not in part.words and len(frame := part.make(number, sasl.Exchange())) <= _LONGEST
        found.append(f"{part.words}: {frame.hex()}" if is_shown else part.words)
    return found or [f"nothing for {step.pause_ms} ms"]


def _is_as_counted(sequence: sasl.Conversation, seen: list[list[sasl.Seen]]) -> bool:
    counted = [step.events for step in sequence.steps]
    last = seen[-1][-1].what
    return last in (sasl.OPEN, sasl.CLOSED) and [len(each) for each in seen] == counted + [1] * (last == sasl.OPEN)


def _text(sequences: dict[str, list[dict[str, Any]]]) -> str:
    """Return the record as JSON with a line for each step."""
    found = [
        f"{json.dumps(name)}: [\n" + ",\n".join(f" {json.dumps(step)}" for step in steps) + "\n]"
        for name, steps in sequences.items()
    ]
    return f'{{"recorded with": "Apache Kafka {release()}",\n"sequences": {{\n' + ",\n".join(found) + "\n}}\n"


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        kafka, ports = secured_kafka(Path(name))
        with kafka:
            create_scram_users(kafka.address)
            sasl.play_all(ports)  # Java is slow at first
            played = list(zip(sasl.SEQUENCES, sasl.play_all(ports, at_once=4), strict=True))
            sequences = {each.name: _recorded(each, seen) for each, seen in played}
            sasl.RECORDED.write_text(_text(sequences))
            problems = [f"other events: {each.name}: {seen}" for each, seen in played if not _is_as_counted(each, seen)]
            problems += sasl.differences(ports)
    print("\n".join([*problems, f"{len(sasl.SEQUENCES)} sequences, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
