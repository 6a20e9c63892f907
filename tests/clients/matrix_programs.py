"""The rows of the client matrix: how each program is built or found, and how it is started.

Everything that is built or fetched goes into a cache outside the repository, through the languages' own tools (mvn, go,
npm) and from the versions pinned beside the sources (java/pom.xml, go/go.sum, kafkajs/package-lock.json). A tool that
the machine lacks raises `Missing`, which becomes the reason in the table and with --offered is forgiven. A tool that is
there and fails raises `BrokenError`, which never is: a program of ours that no longer compiles is not "not offered".
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from tests.clients.matrix_members import Event, Options, Program, Translator
from tests.conformance import kafka

HERE = Path(__file__).parent
BUILD_S = 900
JVM = ("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
QUIET = ("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",)
OLDER_JAVA_CLIENTS = ("3.9.1", "2.8.2", "2.0.1", "1.0.2")  # beside the newest, which java/pom.xml has
POLL_BY_DURATION = (2, 0)  # the release of kafka-clients that brought it; 4.0 no longer has the other one
STATIC_MEMBERSHIP = (2, 3)
COOPERATIVE_ASSIGNOR = (2, 4)

NO_STATIC = "the library has no static membership"
NO_COOPERATIVE = "the library has no cooperative assignor"
KAFKA_PYTHON_NOTE = "its program asks again for a join that this version can forget between two short polls"
AIOKAFKA_FENCED = (
    "its heartbeats do not name the instance, so a fenced member joins again and the two take the place from each "
    "other in turn; the same happens on Apache Kafka 4.4.0"
)
KAFKA_PYTHON_FENCED = (
    "the coordinator moves everything to the second, but the library does not tell the first while it only polls; "
    "the same happens on Apache Kafka 4.4.0"
)
KAFKA_GO_MIXES_WITH = frozenset({"franz-go", "sarama", "kafkajs", "aiokafka"})
KAFKA_GO_APART = (
    "in a mixed group with franz-go, sarama, kafkajs and aiokafka alone: kafka-go writes a subscription of version 1 "
    "without the owned partitions that belong to it. A Java client that leads the group ends with a SchemaException "
    "when it reads that, librdkafka (confluent-kafka, kcat) gives kafka-go no partitions, kafka-python fails and joins "
    'again. And as a leader kafka-go refuses subscriptions that have them ("unable to read metadata for member"), '
    "leaves, and is back 5 s later behind another leader. A coordinator only passes the bytes on; the same happens on "
    "Apache Kafka 4.4.0, pair by pair"
)


class Missing(Exception):  # noqa: N818 - what the machine lacks, not a fault
    """A row cannot run here for want of a tool, and which."""


class BrokenError(Exception):
    """A program could not be fetched or built, although its tools are installed."""


def cache() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "kafka-group-coordinator"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def need(tool: str) -> str:
    found = shutil.which(tool)
    if found is None:
        raise Missing(f"{tool} is not installed")
    return found


def built(name: str, sources: Iterable[Path], build: Callable[[Path], None], *more: str) -> Path:
    """A folder of the cache, named by the content of what it is built from; built beside and moved, so never half."""
    digest = hashlib.sha256("\0".join(more).encode())
    for each in sorted(sources):
        digest.update(each.read_bytes())
    folder = cache() / f"{name}-{digest.hexdigest()[:12]}"
    if not folder.is_dir():
        with tempfile.TemporaryDirectory(dir=cache()) as scratch:
            fresh = Path(scratch) / name
            fresh.mkdir()
            build(fresh)
            if not folder.is_dir():
                fresh.rename(folder)
    return folder


def run(command: list[str], cwd: Path, *, attempts: int = 1, environment: Mapping[str, str] | None = None) -> str:
    """Run a command and return its output. `attempts` above 1 are for downloads."""
    env = {**os.environ, **(environment or {})}
    for _ in range(attempts):
        done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=BUILD_S, check=False)
        if done.returncode == 0:
            return done.stdout
    said = (done.stderr.strip() or done.stdout.strip())[-300:]
    raise BrokenError(f"{Path(command[0]).name} failed: {said}")


# -- Java ------------------------------------------------------------------------------------------------------------


def kafka_version(pom: Path = HERE / "java" / "pom.xml") -> str:
    found = re.search(r"<kafka.version>(.+?)</kafka.version>", pom.read_text())
    assert found is not None
    return found[1]


def jars(version: str, pom: Path = HERE / "java" / "pom.xml", name: str = "kafka-clients-jars") -> Path:
    """The jars of some release that a pom names, and what they need."""
    mvn = need("mvn")

    def fetch(fresh: Path) -> None:
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={fresh}"]
        run([mvn, "-q", "-B", "-f", str(pom), f"-Dkafka.version={version}", *goal], cwd=fresh, attempts=2)

    return built(name, [pom], fetch, version)


def java_name(version: str) -> str:
    return f"java-{version.rpartition('.')[0]}"


def java(version: str) -> Program:
    need("java")
    javac = need("javac")
    libraries = jars(version)
    release = tuple(int(each) for each in version.split(".")[:2])
    folder = HERE / "java"
    poll = folder / ("poll_duration" if release >= POLL_BY_DURATION else "poll_long") / "Poll.java"
    sources = [folder / "Member.java", poll]

    def compile_it(fresh: Path) -> None:
        run([javac, "-cp", f"{libraries}/*", "-d", str(fresh), *map(str, sources)], cwd=fresh)

    classes = built("java-member", [*sources, folder / "pom.xml"], compile_it, version)
    classpath = f"{classes}{os.pathsep}{libraries}/*"

    def command(options: Options) -> list[str]:
        return ["java", *JVM, *QUIET, "-cp", classpath, "Member", *options.as_arguments()]

    without = {}
    if release < STATIC_MEMBERSHIP:
        without |= {"static": NO_STATIC, "fenced": NO_STATIC}
    if release < COOPERATIVE_ASSIGNOR:
        without["cooperative"] = NO_COOPERATIVE
    return Program(java_name(version), f"kafka-clients {version}", command, without=without)


def streams() -> Program:
    """Kafka Streams. It is no row of the matrix, because it takes no commands but those to come and go."""
    need("java")
    javac = need("javac")
    folder = HERE / "java" / "streams"
    version = kafka_version(folder / "pom.xml")
    libraries = jars(version, folder / "pom.xml", "kafka-streams-jars")
    source = folder / "StreamsMember.java"

    def compile_it(fresh: Path) -> None:
        run([javac, "-cp", f"{libraries}/*", "-d", str(fresh), str(source)], cwd=fresh)

    classes = built("streams-member", [source, folder / "pom.xml"], compile_it)
    start = ["java", *JVM, *QUIET, "-cp", f"{classes}{os.pathsep}{libraries}/*", "StreamsMember"]
    return Program("streams", f"kafka-streams {version}", lambda options: [*start, *options.as_arguments()])


def connect() -> Program:
    """Kafka Connect, of the release of the tools. It is no row of the matrix, as Streams is none."""
    need("java")
    javac = need("javac")
    libraries = tool_jars()
    source = HERE / "java" / "connect" / "ConnectMember.java"

    def compile_it(fresh: Path) -> None:
        run([javac, "-cp", f"{libraries}/*", "-d", str(fresh), str(source)], cwd=fresh)
        services = fresh / "META-INF" / "services"
        services.mkdir(parents=True)
        (services / "org.apache.kafka.connect.source.SourceConnector").write_text("ConnectMember$Source\n")

    classes = built("connect-member", [source], compile_it, libraries.name)
    start = ["java", *JVM, *QUIET, "-cp", f"{classes}{os.pathsep}{libraries}/*", "ConnectMember"]
    version = f"Kafka Connect {kafka.release('tools')}"
    return Program("connect", version, lambda options: [*start, *options.as_arguments()])


def tool_command(tool: str) -> list[str]:
    """The start of the command line of one of Kafka's tools, by the name of its class."""
    return ["java", *JVM, *QUIET, "-cp", f"{tool_jars()}/*", f"org.apache.kafka.tools.{tool}"]


def tool_jars() -> Path:
    try:
        return kafka.jars("tools")
    except kafka.KafkaFetchError as error:
        raise BrokenError(str(error)) from None
    except kafka.KafkaMissingError as error:
        raise Missing(str(error)) from None


def verifiable_events() -> Translator:
    kinds = {"partitions_assigned": "assigned", "partitions_revoked": "revoked"}

    def translate(line: str) -> Iterable[Event]:
        if not line.startswith("{"):
            return
        said = json.loads(line)
        match said["name"]:
            case "partitions_assigned" | "partitions_revoked" as name:
                yield {"event": kinds[name], "partitions": [each["partition"] for each in said["partitions"]]}
            case "records_consumed":
                for each in said["partitions"]:
                    for offset in range(each["minOffset"], each["maxOffset"] + 1):
                        yield {"event": "record", "partition": each["partition"], "offset": offset}
            case "offsets_committed" if said["success"]:
                yield {"event": "committed"}
            case "offsets_committed":
                yield {"event": "error", "message": str(said.get("error"))}
            case "shutdown_complete":
                yield {"event": "closed"}

    return translate


def verifiable_consumer() -> Program:
    start = tool_command("VerifiableConsumer")
    assignors = {"range": "RangeAssignor", "cooperative-sticky": "CooperativeStickyAssignor"}
    settings = cache() / "verifiable-consumer-settings"
    settings.mkdir(exist_ok=True)

    def command(options: Options) -> list[str]:
        file = settings / f"{options.name}.properties"
        file.write_text(f"client.id={options.name}\nheartbeat.interval.ms={options.heartbeat_ms}\n")
        line = [*start, "--bootstrap-server", options.bootstrap, "--topic", options.topic, "--group-id", options.group]
        line += ["--session-timeout", str(options.session_ms), "--reset-policy", "earliest"]
        line += ["--assignment-strategy", f"org.apache.kafka.clients.consumer.{assignors[options.assignor]}"]
        line += ["--command-config", str(file)]
        return line + (["--group-instance-id", options.instance] if options.instance else [])

    return Program(
        "kafka-verifiable-consumer",
        f"kafka-tools {kafka.release('tools')}",
        command,
        verifiable_events,
        takes_commands=False,
        note="commits after every poll",
    )


# -- Go --------------------------------------------------------------------------------------------------------------


def go_compiler(source: Path) -> str:
    """A Go that can build go.mod: from 1.21 on it fetches the newer compiler that the file asks for."""
    compiler = need("go")
    found = re.search(r"go(\d+)\.(\d+)", run([compiler, "version"], HERE))
    if found is None or (int(found[1]), int(found[2])) < (1, 21):
        wanted = re.search(r"^go (\S+)", (source / "go.mod").read_text(), re.MULTILINE)
        raise Missing(f"{found[0] if found else 'this go'} is too old: go {wanted[1] if wanted else '1.21'} is needed")
    return compiler


def go(
    folder: str,
    name: str,
    module: str,
    *,
    without: dict[str, str] | None = None,
    mixes_with: frozenset[str] | None = None,
    apart: str = "",
) -> Program:
    source = HERE / "go"
    compiler = go_compiler(source)
    sources = [*source.rglob("*.go"), source / "go.mod", source / "go.sum"]

    def build(fresh: Path) -> None:
        run([compiler, "build", "-o", f"{fresh}/", "./franz", "./sarama", "./kafkago"], cwd=source, attempts=2)

    program = built("go-members", sources, build) / folder
    found = re.search(rf"{re.escape(module)} v(\S+)", (source / "go.mod").read_text())
    assert found is not None
    return Program(
        name,
        f"{name} {found[1]}",
        lambda options: [str(program), *options.as_arguments()],
        without=without or {},
        mixes_with=mixes_with,
        apart=apart,
    )


# -- JavaScript ------------------------------------------------------------------------------------------------------


def node_modules(name: str, package: str, environment: Mapping[str, str] | None = None) -> tuple[Path, str]:
    """The modules that the lock file of a folder names, and the version of one of them."""
    npm = need("npm")
    lock = HERE / name / "package-lock.json"

    def install(fresh: Path) -> None:
        for each in (lock, lock.with_name("package.json")):
            shutil.copy(each, fresh)
        run([npm, "ci", "--no-audit", "--no-fund"], cwd=fresh, attempts=2, environment=environment)

    modules = built(name, [lock], install) / "node_modules"
    return modules, json.loads(lock.read_text())["packages"][f"node_modules/{package}"]["version"]


def platformatic() -> Program:
    """@platformatic/kafka. It is no row of the matrix, because its program takes no commits."""
    node = need("node")
    modules, version = node_modules("platformatic", "@platformatic/kafka")
    return Program(
        "platformatic",
        f"@platformatic/kafka {version}",
        lambda options: [node, str(HERE / "node" / "platformatic_member.js"), *options.as_arguments()],
        environment={"NODE_PATH": str(modules)},
    )


def kafkajs() -> Program:
    node = need("node")
    modules, version = node_modules("kafkajs", "kafkajs")
    return Program(
        "kafkajs",
        f"kafkajs {version}",
        lambda options: [node, str(HERE / "node" / "member.js"), *options.as_arguments()],
        without={"static": NO_STATIC, "fenced": NO_STATIC, "cooperative": NO_COOPERATIVE},
        environment={"NODE_PATH": str(modules)},
        note="with a range assignor of ours: it has only round robin",
    )


# -- Python ----------------------------------------------------------------------------------------------------------


def python(library: str, without: dict[str, str], note: str = "") -> Program:
    try:
        version = importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        raise Missing(f"{library} is not installed") from None
    if library == "confluent-kafka":
        import confluent_kafka

        note = f"librdkafka {confluent_kafka.libversion()[0]}"
    start = [sys.executable, "-W", "ignore", "-m", "tests.clients.matrix_python_member", library]
    return Program(
        library, f"{library} {version}", lambda options: [*start, *options.as_arguments()], without=without, note=note
    )


# -- kcat ------------------------------------------------------------------------------------------------------------

_EAGER = re.compile(r"^% Group \S+ rebalanced \(.*?\): (assigned|revoked): (.*)$")
_COOPERATIVE = re.compile(r"^% Group \S+ rebalanced: incremental (assignment|revoke) .*?\): (.*)$")
_PARTITION = re.compile(r"\[(\d+)\]")


def kcat_events() -> Translator:
    def translate(line: str) -> Iterable[Event]:
        if line.startswith("{"):
            yield json.loads(line)
        elif found := _EAGER.match(line) or _COOPERATIVE.match(line):
            kind = "assigned" if found[1].startswith("assign") else "revoked"
            yield {"event": kind, "partitions": [int(each) for each in _PARTITION.findall(found[2])]}
        elif line.startswith("% ERROR"):
            yield {"event": "error", "message": line.strip()}

    return translate


def kcat() -> Program:
    tool = need("kcat")
    found = re.search(r"Version (\S+) \(.*librdkafka (\S+)", run([tool, "-V"], HERE))

    def command(options: Options) -> list[str]:
        settings = {
            "client.id": options.name,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": options.session_ms,
            "heartbeat.interval.ms": options.heartbeat_ms,
            "partition.assignment.strategy": options.assignor,
            "fetch.wait.max.ms": "100",
            **({"group.instance.id": options.instance} if options.instance else {}),
        }
        line = [tool, "-b", options.bootstrap, "-u", "-G", options.group]
        for name, value in settings.items():
            line += ["-X", f"{name}={value}"]
        return [*line, "-f", '{"event": "record", "partition": %p, "offset": %o}\\n', options.topic]

    return Program(
        "kcat",
        f"kcat {found[1]}" if found else "kcat",
        command,
        kcat_events,
        takes_commands=False,
        without={"restart": "kcat ends by itself when the only broker it knows is gone"},
        note=f"librdkafka {found[2]}; commits by itself, every 5 s" if found else "",
    )


PROGRAMS: dict[str, Callable[[], Program]] = {
    **{java_name(version): partial(java, version) for version in (kafka_version(), *OLDER_JAVA_CLIENTS)},
    "kafka-verifiable-consumer": verifiable_consumer,
    "franz-go": lambda: go("franz", "franz-go", "github.com/twmb/franz-go"),
    "sarama": lambda: go("sarama", "sarama", "github.com/IBM/sarama"),
    "kafka-go": lambda: go(
        "kafkago",
        "kafka-go",
        "github.com/segmentio/kafka-go",
        without={"static": NO_STATIC, "fenced": NO_STATIC, "cooperative": NO_COOPERATIVE},
        mixes_with=KAFKA_GO_MIXES_WITH,
        apart=KAFKA_GO_APART,
    ),
    "kafkajs": kafkajs,
    "confluent-kafka": lambda: python("confluent-kafka", {}),
    "kcat": kcat,
    "aiokafka": lambda: python("aiokafka", {"fenced": AIOKAFKA_FENCED, "cooperative": NO_COOPERATIVE}),
    "kafka-python": lambda: python("kafka-python", {"fenced": KAFKA_PYTHON_FENCED}, KAFKA_PYTHON_NOTE),
}
