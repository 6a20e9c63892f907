"""Recorder of corpus/acl.json: the answers of a real Kafka to the requests of `acl_requests` by users with rights.

`python -m tests.conformance.record_acl` needs Java and Kafka's jars. It plays the requests to a Kafka, and then to a
daemon of ours. It ends with an error if one of our answers differs in a way that is not known.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.conformance import acl_cases as acl
from tests.conformance.kafka import release
from tests.conformance.servers import await_producer_ids, secured_daemon, secured_kafka


async def _played(server: acl.Server, versions: dict[str, list[int]]) -> dict[str, dict[str, Any]]:
    await acl.prepare(server)
    return await acl.play(server, versions)


def _text(kafka_versions: dict[str, list[int]], rows: dict[str, dict[str, Any]]) -> str:
    """Return the record as JSON, with a line for each answer and the users that got it."""
    found = []
    for name, row in rows.items():
        users: dict[str, list[str]] = {}
        for user, answer in row.items():
            users.setdefault(json.dumps(answer), []).append(user)
        lines = ",\n".join(f' {{"users": {json.dumps(some)}, "answer": {answer}}}' for answer, some in users.items())
        found.append(f"{json.dumps(name)}: [\n{lines}\n]")
    head = f'{{"recorded with": "Apache Kafka {release()}",\n"versions": {json.dumps(kafka_versions)},\n"answers": {{\n'
    return head + ",\n".join(found) + "\n}}\n"


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        kafka, sasl_port = secured_kafka(Path(name) / "kafka", acl.RULES, acl.SETTINGS)
        with kafka:
            await_producer_ids(kafka)
            kafka_versions = asyncio.run(acl.versions_of(kafka.port))
            versions = acl.versions_of_both(kafka_versions)
            server = acl.Server(kafka.port, sasl_port, kafka._controller_port)
            acl.RECORDED.write_text(_text(kafka_versions, asyncio.run(_played(server, versions))))
        with secured_daemon(Path(name) / "ours", acl.RULES, acl.SETTINGS) as daemon:
            port = daemon.ports["PLAINTEXT"]
            ours = asyncio.run(_played(acl.Server(port, daemon.ports["SASL"], port), versions))
    problems, known = acl.compare(ours)
    count = sum(map(len, ours.values()))
    print("\n".join([*problems, f"{count} answers, {len(problems)} differences; known: {dict(known)}"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
