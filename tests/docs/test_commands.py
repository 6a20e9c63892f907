"""Each command on a page exists, and is typed by a test, or has a reason why not.

A command of `coordinator` is read by its real parser, so that a page names no option that is gone. The commands of a
block are typed by the test of its page, or by test_commands_run. Blocks that need more than a machine for tests has
are left out: by the program that they call, or each with its reason.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from coordinator.cli.arguments import join_negative
from coordinator.cli.main import parser_of, split_words, verbs_at
from tests.docs.blocks import ROOT, Block, blocks
from tests.docs.commands import commands, typed_text
from tests.docs.test_commands_run import STEPS

PAGES: Final = (
    "README.md",
    "CONTRIBUTING.md",
    *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md")),
)

# Pages that are typed in as a whole, each with its test.
TYPED: Final = {
    "README.md": "test_readme.py",
    "docs/install.md": "test_install_page.py",
    "docs/tutorial.md": "test_tutorial.py",
    "docs/secure.md": "test_secure_page.py",
    "docs/testing.md": "test_testing_pages.py",
    "docs/rehearse.md": "test_rehearse_page.py",
    "docs/torture.md": "test_torture_page.py",
}

# Programs whose commands tests do not type, each with the reason. A block with nothing else needs no reason of its own.
NOT_TYPED: Final = {
    "make": "takes minutes to hours; .ci/run and maintainers type it, and the target exists",
    "docker": "needs a container engine; make cluster-test and make container-test build and start the same",
    "docker-compose": "needs a container engine; make cluster-test and .ci/run use the same compose file",
    "pip": "installs from a registry; .ci/newcomer does, with the wheel in dist/, and the extra exists",
    "pg_basebackup": "needs two machines with PostgreSQL; make ha-test has them",
    "psql": "needs a PostgreSQL of its own; make ha-test and tests/engine have one",
    "kafka-acls.sh": "a program of Kafka's; tests/conformance has a Kafka",
    "kafka-configs.sh": "a program of Kafka's; tests/clients sends its requests",
    "kafka-client-metrics.sh": "a program of Kafka's; tests/clients sends its requests",
    "kafka-console-consumer.sh": "a program of Kafka's; make clients uses its consumer",
}
STUCK: Final = "needs a client that does not poll; tests/clients/test_explained_incidents.py plays it"
KAFKA: Final = "needs Spark and a Kafka; tests/cli/history/test_stream.py and make interchange type such commands"
EXEMPT: Final = {
    ("docs/compaction.md", "coordinator compact --data-dir /mnt/shared/data --master spa"): "needs a cluster of Spark",
    ("docs/faults.md", "coordinator faults --http https://kafka.test:9080 --command-"): (
        "needs a certificate; tests/testing/test_secured.py has one"
    ),
    (
        "docs/high-availability.md",
        "pip install 'kafka-group-coordinator[postgres]'",
    ): "needs two databases; make ha-test",
    ("docs/high-availability.md", "$ coordinator cluster describe --config server.properties"): "the same",
    ("docs/observe.md", "pip install 'kafka-group-coordinator[observe]'"): "needs a Kafka; tests/observe has one",
    ("docs/pipeline.md", "pip install 'kafka-group-coordinator[spark]' # pyspark, pyar"): KAFKA,
    ("docs/pipeline.md", "coordinator history rebalances shop --history-dir tables"): KAFKA,
    ("docs/pipeline.md", "coordinator history sql --history-dir tables \\"): KAFKA,
    ("docs/pipeline.md", "coordinator tables --tables-dir s3://bucket/tables --bootstr"): KAFKA,
    ("docs/pipeline.md", "pip install 'pyspark==4.1.*'"): "needs a lake; make lake has Delta and Iceberg",
    ("docs/simulation.md", "make sim # a hundred seeds of 5,000 steps"): "long; tests/cli/test_simulate.py replays",
    ("docs/stuck-consumer-groups.md", "$ coordinator groups explain shop"): STUCK,
    ("docs/whatif.md", "coordinator whatif --all-groups --try static=true --try sess"): (
        "starts Spark; tests/whatif/test_command.py does"
    ),
}

WITH_COMMANDS: Final = [block for page in PAGES for block in blocks(page) if typed_text(block)]
PYTHON: Final = [block for page in PAGES for block in blocks(page) if block.language == "python"]


def where(block: Block) -> str:
    return block.where


def programs(block: Block) -> Iterator[tuple[str, list[str]]]:
    for program, *words in commands(typed_text(block)):
        yield program, words


def is_typed(block: Block) -> bool:
    return block.page in TYPED or block.name in STEPS.get(block.page, {})


@pytest.mark.parametrize("block", WITH_COMMANDS, ids=where)
def test_the_commands_of_a_block_are_typed_by_a_test_or_have_a_reason(block: Block) -> None:
    reasons = (block.page, block.name) in EXEMPT or all(program in NOT_TYPED for program, _ in programs(block))
    assert is_typed(block) or reasons, (
        f"{block.where}: these commands are not typed by a test. Give the block a step in test_commands_run.py, "
        f"or the page a test of its own (TYPED), or the block a reason (EXEMPT, by the name {block.name!r})"
    )


def test_each_reason_is_needed() -> None:
    found = {(block.page, block.name): block for block in WITH_COMMANDS}
    assert EXEMPT.keys() <= found.keys()
    assert not [name for name in EXEMPT if is_typed(found[name])]
    for page, test in TYPED.items():
        assert f'"{page}"' in (ROOT / "tests" / "docs" / test).read_text(encoding="utf-8")
    used = {program for block in WITH_COMMANDS for program, _ in programs(block)}
    assert NOT_TYPED.keys() <= used


def test_the_tests_that_reasons_name_exist() -> None:
    for reason in {*EXEMPT.values(), *NOT_TYPED.values()}:
        for path in re.findall(r"\b(?:tests/[\w/.]+|\.ci/\w+)", reason):
            assert Path(ROOT, path.rstrip(".")).exists(), path


@pytest.mark.parametrize("block", WITH_COMMANDS, ids=where)
def test_the_commands_of_a_block_exist(block: Block, capsys: pytest.CaptureFixture[str]) -> None:
    for program, words in programs(block):
        if program == "coordinator":
            try:
                parse(words)
            except SystemExit:
                pytest.fail(f"coordinator {' '.join(words)}: {capsys.readouterr().err}")
        elif program == "make":
            targets = {word for word in words if "=" not in word}
            assert targets <= made_by_make(), targets
        elif program == "pip":
            for extra in re.findall(r"kafka-group-coordinator\[(\w+)\]", " ".join(words)):
                assert extra in extras(), extra
        elif program == "docker-compose" or (program == "docker" and words[0] == "compose"):
            assert compose_names(words) <= services(), words


@pytest.mark.parametrize("block", PYTHON, ids=where)
def test_each_block_of_python_compiles(block: Block) -> None:
    compile(block.text, block.where, "exec")


@pytest.mark.parametrize("page", PAGES)
def test_each_option_of_a_command_in_a_sentence_exists(page: str) -> None:
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for code in re.findall(r"`coordinator ([^`]+)`", text):
        words = code.split()
        path, rest = split_words(words)
        known = {option for end in range(len(path) + 1) for option in parser_of(*path[:end]).options()}
        known |= set(parser_of(*path).innermost(rest)[0].options())
        for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", " ".join(rest).partition(" -- ")[0]):
            assert option in known, f"coordinator {code}"


def parse(words: list[str]) -> None:
    """Read the words as the command line does, and exit with a message if they are no command."""
    path, rest = split_words(join_negative(words))
    assert verbs_at(path) is None, f"coordinator {' '.join(words)}: a verb is missing"
    parser = parser_of(*path)
    if parser.takes_words_anywhere():
        parser.parse_intermixed_args(rest)
    else:
        parser.parse_args(rest)


def made_by_make() -> set[str]:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return {word for names in re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE) for word in names.split()}


def extras() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return set(project["optional-dependencies"])


def services() -> set[str]:
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    return set(re.findall(r"^  ([\w-]+):", text.partition("\nservices:")[2], re.MULTILINE)) | set(
        re.findall(r"profiles: \[([\w-]+)\]", text)
    )


def compose_names(words: list[str]) -> set[str]:
    """Return the profiles and services that a command of compose names."""
    return {word for word in words if not word.startswith("-")} - {"compose", "up", "down", "run", "logs", "build"}
