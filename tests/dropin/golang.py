"""Projects in Go: modules carry their tests, and `go test -json` prints a verdict for each."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Final

from tests.dropin.edits import edit
from tests.dropin.model import ADDRESS, FAILED, PASSED, SKIPPED, Language, Project, Verdicts
from tests.dropin.processes import prepare, run_tests

PROJECTS: Final = (
    Project(
        "github.com/segmentio/kafka-go",
        "0.4.51",
        # Two subtests panic with any server, because the tests leave out a function that is called; without them the
        # rest of the package runs. Its own pipeline leaves nettest out, too.
        tests=(".", "-skip", "^TestReaderConsumerGroup$/^(consumer_group_commits_on_close|verify_offset_committed)"),
        environment={"KAFKA_VERSION": "4.0.0", "KAFKA_SKIP_NETTEST": "1"},
        explained={
            "TestClientElectLeaders$": "The request may take 0 ms, too short for Kafka's controller, but not here.",
            "TestConn/test_delete_topics": "Kafka's Metadata may show a topic for a moment after DeleteTopics is "
            "answered; here it is gone by then.",
            "TestClientDescribeConfigs$": "Kafka may show the old value for a moment after AlterConfigs is answered; "
            "here it is the new one.",
            "TestConsumerGroupWithGroupTopicsSingle$": "The group is stable here before its topic is created, and the "
            "client misses a topic that appears between its assignment and its first look for changes.",
        },
    ),
    Project(
        "github.com/twmb/franz-go",
        "1.22.3",
        tests=("./pkg/kgo",),
        environment={"KGO_TEST_RF": "1", "KGO_TEST_RECORDS": "50000", "KGO_LOG_LEVEL": "none"},
        explained={"Share": "There are no share groups."},
    ),
    Project(
        "github.com/IBM/sarama",
        "1.61.1",
        # The functional tests, without those that stop a broker or its proxy.
        tests=(
            "-tags=functional",
            "-run",
            "^(TestFunc|TestVersionMatrix|TestReadOnlyAndAll|TestConsumerGroupDeadlock|TestConsumerHighWater|TestInterceptors)",
            "-skip",
            "BrokerFailure|ConnectionFailure|NetworkError|JavaInterop|ListConsumerGroupOffsets$",
            ".",
        ),
        environment={"TOXIPROXY_ADDR": "http://127.0.0.1:1", "KAFKA_VERSION": "4.4.0"},
        settings={"auto.create.topics.enable": "false"},
        edits=(
            ("functional_test.go", "i <= 5; i++", "i <= 0; i++"),
            ("functional_test.go", "KafkaBrokerAddrs = nil", 'KafkaBrokerAddrs = []string{"127.0.0.1:9092"}'),
            ("functional_test.go", "FunctionalTestEnv.ToxiproxyClient.ResetState()", "error(nil)"),
            ("functional_producer_test.go", "InMs := 10", "InMs := 0"),  # their proxies delay each request
            ("functional_*test.go", "ReplicationFactor: 3", "ReplicationFactor: 1"),
        ),
        explained={
            "TestFuncAdminIncrementalAlterConfigs$": "There is no log cleaner in this server, and so no setting "
            "log.cleaner.backoff.ms.",
            "TestFuncAdminUpdateFeatures$": "UpdateFeatures is not served: the features are those of the release.",
        },
    ),
    Project(
        "github.com/ThreeDotsLabs/watermill-kafka/v3",
        "3.0.6",
        tests=("./pkg/kafka", "-short"),
        environment={"WATERMILL_TEST_KAFKA_BROKERS": ADDRESS},
    ),
    Project(
        "github.com/confluentinc/confluent-kafka-go/v2",
        "2.11.1",
        tests=("./kafka", "-docker.exists", "-run", "^(TestIntegration|TestTransactional)"),
        # There is one listener; without an address of another one the tests of SASL are skipped.
        edits=(("kafka/testhelpers_test.go", "BrokersSasl = defaulttestconfBrokersSasl", 'BrokersSasl = ""'),),
        explained={
            "TestTransactionalProducer$": "Flush(-1) of this client does not wait. On Kafka the offsets take "
            "so long to send that all records are delivered by then; here they do not.",
            "TestTransactionalSendOffsets$": "The name of its topic is that of the test before, if both begin in the "
            "same second, as they do when that one fails at once.",
        },
    ),
)
ENVIRONMENT: Final = {"GOFLAGS": "-mod=mod"}  # go.sum may lack what only tests need
_RANDOM: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")  # in names of tests
_VERDICTS: Final = {"pass": PASSED, "fail": FAILED, "skip": SKIPPED}


def _prepare(project: Project, folder: Path) -> None:
    listed = json.loads(prepare(["go", "mod", "download", "-json", f"{project.name}@v{project.version}"], folder))
    shutil.copytree(listed["Dir"], folder / "source", copy_function=shutil.copyfile)
    for path in [folder / "source", *(folder / "source").rglob("*")]:
        path.chmod(0o755)  # the cache of modules is read-only
    edit(folder / "source", project.edits)
    prepare(["go", "test", *project.tests, "-exec", "true"], folder / "source", ENVIRONMENT)


def _run(project: Project, folder: Path, output: Path) -> Verdicts:
    command = ["go", "test", "-json", "-count=1", "-p", "1", f"-timeout={project.within_s}s", *project.tests]
    run_tests(command, folder / "source", output, {**ENVIRONMENT, **project.environment}, project.within_s)
    return _read(output)


def _read(output: Path) -> Verdicts:
    """Return the verdict of each test; one that began and has no verdict was ended, and so has failed."""
    found: Verdicts = {}
    for line in output.read_text(encoding="utf-8", errors="replace").splitlines():
        if not line.startswith("{"):
            continue
        event = json.loads(line)
        if "Test" not in event:
            continue
        name = f"{event['Package']}::{_RANDOM.sub('…', event['Test'])}"
        if event["Action"] == "run":
            found[name] = FAILED
        found[name] = _VERDICTS.get(event["Action"], found.get(name, FAILED))
    return found


GO: Final = Language("Go", PROJECTS, _prepare, _run)
