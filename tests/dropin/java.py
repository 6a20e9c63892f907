"""Projects in Java: artifacts of Maven that are jars of tests, run by the console of JUnit.

Their tests start brokers in their own process by a class of a library for tests. The folder java/ARTIFACT has a class
of the same name, which is first on the class path and gives them the server under test.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from tests.dropin.edits import edit
from tests.dropin.junit import verdicts_of
from tests.dropin.model import ADDRESS, Language, Project, Verdicts
from tests.dropin.processes import prepare, run_tests

STAND_INS: Final = Path(__file__).parent / "java"
JUNIT: Final = "1.13.4"
CONSOLE: Final = (
    f"org.junit.platform:junit-platform-console:{JUNIT}",
    f"org.junit.platform:junit-platform-launcher:{JUNIT}",
    "org.junit.jupiter:junit-jupiter:5.13.4",
    "org.junit.vintage:junit-vintage-engine:5.13.4",
    "org.slf4j:slf4j-simple:2.0.17",
)
QUIET: Final = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
PROJECTS: Final = (
    Project(
        "io.vertx:vertx-kafka-client",
        "5.0.7",
        tests=tuple(
            f"--select-class=io.vertx.kafka.client.tests.{name}Test"  # the others need no server, or repeat these
            for name in (
                "AdminClient",
                "Cleanup",
                "Codecs",
                "Consumer",
                "Earliest",
                "EarliestNative",
                "Producer",
                "ProducerConsumerContext",
                "TransactionalProducer",
            )
        ),
        settings={"advertised.listeners": "PLAINTEXT://localhost:9092"},
        packages=(
            "io.vertx:vertx-kafka-client:5.0.7",
            "io.vertx:vertx-kafka-client:5.0.7:tests",
            "io.vertx:vertx-unit:5.0.7",
            "io.debezium:debezium-core:2.7.3.Final",
            "io.debezium:debezium-core:2.7.3.Final:tests",
            "org.awaitility:awaitility:4.2.0",
            "org.apache.kafka:kafka-clients:3.7.1",
            *CONSOLE,
        ),
    ),
    Project(
        "org.apache.kafka:kafka-clients-integration-tests",
        "4.3.1",
        tests=(
            "--scan-classpath=jars/kafka-clients-integration-tests-4.3.1-test.jar",
            "--include-engine=junit-jupiter",
            "--config=junit.jupiter.extensions.autodetection.enabled=true",
            # The others look into brokers, stop them, or need settings of their own; those of subscriptions by pattern
            # find the topics of all tests before, and take longer than a run may at Kafka.
            "--include-classname=.*[.](Plaintext(?!ConsumerPoll|ConsumerSubscription)|.*(Fence|ProducerIntegration)).*",
            # A race in the client: KAFKA-18031.
            "--exclude-methodname=.*CloseLeavesGroupOnInterrupt.*",
        ),
        packages=(
            "org.apache.kafka:kafka-clients-integration-tests:4.3.1:test",
            "org.apache.kafka:kafka-test-common-runtime:4.3.1",
            "org.apache.kafka:kafka-clients:4.3.1:test",
            "org.apache.kafka:kafka_2.13:4.3.1:test",
            "org.apache.kafka:kafka-server-common:4.3.1:test",
            *CONSOLE,
        ),
        settings={
            "group.min.session.timeout.ms": "100",
            "group.consumer.min.heartbeat.interval.ms": "500",
            "group.consumer.heartbeat.interval.ms": "500",
            "log.retention.ms": "-1",  # the timestamps of their records are of 1970
            "offsets.topic.num.partitions": "1",
        },
        explained={
            "ConsumerListTopics": "There is a second internal topic here, __group_events, with the events of groups.",
        },
    ),
)
_POM: Final = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>drop-in</groupId>
  <artifactId>tests</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>{dependencies}</dependencies>
</project>
"""


def _dependency(coordinates: str) -> str:
    names = ("groupId", "artifactId", "version", "classifier")
    return "".join(f"<{n}>{escape(value)}</{n}>" for n, value in zip(names, coordinates.split(":"), strict=False))


def _stand_ins(project: Project) -> list[Path]:
    return sorted((STAND_INS / project.name.rpartition(":")[2]).rglob("*.java"))


def _prepare(project: Project, folder: Path) -> None:
    listed = "".join(f"<dependency>{_dependency(each)}</dependency>" for each in project.packages)
    (folder / "pom.xml").write_text(_POM.format(dependencies=listed))
    edit(folder, project.edits)
    prepare(["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={folder / 'jars'}"], folder)
    prepare(["javac", "-nowarn", "-cp", f"{folder / 'jars'}/*", "-d", folder / "classes", *_stand_ins(project)], folder)


def _run(project: Project, folder: Path, output: Path) -> Verdicts:
    reports = output.with_suffix(".reports")
    console = [
        "org.junit.platform.console.ConsoleLauncher",
        "execute",
        f"--reports-dir={reports}",
        "--details=testfeed",
    ]
    command = ["java", QUIET, "-cp", f"{folder / 'classes'}:{folder / 'jars'}/*", *console, *project.tests]
    environment = {"DROP_IN_ADDRESS": ADDRESS, **project.environment}
    run_tests(command, folder, output, environment, project.within_s)
    return verdicts_of(*reports.glob("*.xml"))


JAVA: Final = Language("Java", PROJECTS, _prepare, _run, own=STAND_INS)
