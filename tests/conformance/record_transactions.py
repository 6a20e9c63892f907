"""Recorder of corpus/transactions.json: the answers of a real Kafka to the cases of transactions.

`python -m tests.conformance.record_transactions` needs Java and Kafka's jars. It plays all cases twice and ends with an
error if the runs differ. It then stops the Kafka and writes corpus/transaction_logs.json: the records of its
transaction log, and the batches of markers and offsets, of the cases of LOGGED.
With `--port PORT` it plays the cases to any server instead, prints the differences from the record, and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from protocol.messages.api_versions import ApiVersionsRequest
from tests.conformance import transactions
from tests.conformance.kafka import Kafka, release
from tests.conformance.lockstep import KAFKA_SETTINGS
from tests.conformance.servers import await_producer_ids
from tests.conformance.transaction_cases import Case, Kind
from tests.conformance.transaction_log import Logs, logs_of
from tests.conformance.transactions import Answers
from tests.support.wire import call

APIS: Final = (0, 1, 2, 9, 10, 22, 24, 25, 26, 27, 28, 61, 65, 66)


def kafka_of(directory: Path, kind: Kind) -> Kafka:
    return Kafka(directory, settings={**KAFKA_SETTINGS, **transactions.settings_of(kind)})


def announced(port: int) -> dict[str, Any]:
    """Return the versions and the features that concern transactions."""
    request = ApiVersionsRequest(client_software_name="vectors", client_software_version="1")
    answer = call(port, request, 4)
    return {
        "apis": {
            str(each.api_key): [each.min_version, each.max_version] for each in answer.api_keys if each.api_key in APIS
        },
        "supported": {each.name: [each.min_version, each.max_version] for each in answer.supported_features},
        "finalized": {each.name: each.max_version_level for each in answer.finalized_features},
    }


def recorded(folder: Path, cases: Iterable[Case]) -> tuple[Answers, dict[str, Any], Logs, list[str]]:
    """Play cases twice to a Kafka; return the answers, what it announced, its logs and the problems."""
    cases = [*cases]
    kafka = kafka_of(folder, cases[0].kind)
    with kafka:
        await_producer_ids(kafka)
        said = announced(kafka.port)
        first, second = (transactions.play(kafka.port, cases, run=run, restart=kafka.restart) for run in ("a.", "b."))
    problems = list(transactions.differences(first, second).values())
    return first, said, logs_of(kafka.data_dir, "a."), problems


def _text(parts: Mapping[str, Any], name: str, rows: Mapping[str, list[Any]]) -> str:
    """Return a record as JSON, with a line for each step or record."""
    head = {"recorded with": f"Apache Kafka {release()}", **parts}
    found = [
        f"{json.dumps(key)}: [\n" + ",\n".join(f" {json.dumps(row)}" for row in some) + "\n]"
        for key, some in rows.items()
    ]
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    return "{" + ",\n".join(lines) + f',\n"{name}": {{\n' + ",\n".join(found) + "\n}}\n"


def record() -> int:
    answers: Answers = {}
    logs: Logs = {}
    said: dict[str, Any] = {}
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        for number, (_, cases) in enumerate(transactions.by_server()):
            some, announcement, log, differing = recorded(Path(name) / str(number), cases)
            answers |= some
            said = said or announcement
            logs |= {key: rows for key, rows in log.items() if key in transactions.LOGGED}
            problems += differing
    transactions.RECORDED.write_text(_text(said, "answers", answers))
    transactions.RECORDED_LOGS.write_text(_text({}, "logs", logs))
    steps = sum(map(len, answers.values()))
    print("\n".join([*problems, f"{len(answers)} cases, {steps} steps, {len(problems)} differences of two runs"]))
    return 1 if problems else 0


def compare(port: int, kinds: Iterable[str]) -> int:
    cases = [each for each in transactions.CASES if each.kind in set(kinds)]
    problems = transactions.differences(transactions.recorded(), transactions.play(port, cases, run="a."))
    print("\n".join([*problems.values(), f"{len(cases)} cases, {len(problems)} differ"]))
    return 1 if problems else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, help="compare the server at this port with the record")
    parser.add_argument("--kinds", nargs="*", default=[Kind.ANY], choices=[*Kind], help="of the cases to compare")
    arguments = parser.parse_args()
    return record() if arguments.port is None else compare(arguments.port, arguments.kinds)


if __name__ == "__main__":
    sys.exit(main())
