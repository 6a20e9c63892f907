"""`make bench-security`: CPU time of TLS, SASL and access rules, for a request and for a login, beside Kafka's.

Two servers of each kind run at once, on one core, with a listener of each security protocol: one without access rules,
and one with 1,000, of which six allow what is asked. They take turns under `security_load`, and the lowest of all
rounds counts, because noise only adds. The figure is user and system time of the server's processes, divided by the
requests; how busy the load is does not matter. All servers have the same certificate, users and rules, and acknowledge
after the write (log.flush.policy=interval; Kafka's default).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import peers_at_hand
from bench.findings import Findings, parser
from bench.measure import cores
from bench.peers.kafka import version as kafka_version
from bench.probe import free_ports
from bench.report import markdown_table
from bench.run import COMPILED
from bench.security_load import (
    CONNECTIONS,
    GROUP_PREFIX,
    PARTITIONS,
    PASSWORD,
    PLAIN_USER,
    READ,
    SCRAM_USER,
    SESSION_MS,
    SHAPES,
    TOPIC,
    WRITTEN,
    Load,
    measure_logins,
    produce,
)
from bench.servers import Running, running
from coordinator.security.acl.model import AclOperation, PatternType, Permission, ResourceType
from coordinator.security.scram import SCRAM_SHA_512
from protocol.error_codes import ErrorCode
from protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest, ScramCredentialUpsertion
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.support.admin import create_topic
from tests.support.certificates import Authority, Issued
from tests.support.eventually import eventually
from tests.support.wire import call

OURS, OURS_COMPILED, KAFKA = "ours", "ours compiled", "Apache Kafka"
SCRAM: Final = "SCRAM-SHA-512"
AUTHORIZER: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",  # until the rules are there
}
MODULES: Final = "org.apache.kafka.common.security"
PLAIN_USERS: Final = f'{MODULES}.plain.PlainLoginModule required user_{PLAIN_USER}="{PASSWORD}";'
SCRAM_USERS: Final = f"{MODULES}.scram.ScramLoginModule required;"
RULES: Final = 1_000
ITERATIONS: Final = 4096
SALT: Final = b"salt of the user"


class Setting(NamedTuple):
    """A security protocol, with or without rules."""

    name: str
    protocol: str
    has_rules: bool = False


class Login(NamedTuple):
    """A kind of new connection. `mechanism` and user are None without SASL."""

    name: str
    protocol: str
    login: tuple[str, str] | None = None
    is_of_kafka: bool = True


PROTOCOLS: Final[Mapping[str, tuple[str, str] | None]] = {  # with the login of the load
    "PLAINTEXT": None,
    "SSL": None,
    "SASL_PLAINTEXT": (SCRAM, SCRAM_USER),
    "SASL_SSL": (SCRAM, SCRAM_USER),
}
SETTINGS: Final = (
    *(Setting(name, name) for name in PROTOCOLS),
    Setting("PLAINTEXT, rules", "PLAINTEXT", has_rules=True),
    Setting("SASL_SSL, rules", "SASL_SSL", has_rules=True),
)
LOGINS: Final = (
    Login("none", "PLAINTEXT"),
    Login("TLS 1.3", "SSL"),
    Login("PLAIN, a user of the JAAS setting", "SASL_PLAINTEXT", ("PLAIN", PLAIN_USER)),
    Login("PLAIN, a user with a SCRAM credential", "SASL_PLAINTEXT", ("PLAIN", SCRAM_USER), is_of_kafka=False),
    Login(SCRAM, "SASL_PLAINTEXT", (SCRAM, SCRAM_USER)),
    Login(f"TLS 1.3 and {SCRAM}", "SASL_SSL", (SCRAM, SCRAM_USER)),
)


class Up(NamedTuple):
    """A server that runs, and the port of each security protocol."""

    server: Running
    ports: Mapping[str, int]


Ports: TypeAlias = Mapping[str, int]
Start: TypeAlias = Callable[[Path, set[int], Ports, dict[str, str]], AbstractContextManager[Running]]


def _settings(certificate: Issued, *, has_rules: bool) -> dict[str, str]:
    """Return what Kafka and ours have in common."""
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificate.pem),
        "sasl.enabled.mechanisms": f"PLAIN,{SCRAM}",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": PLAIN_USERS,
        "listener.name.sasl_ssl.plain.sasl.jaas.config": PLAIN_USERS,
        "group.initial.rebalance.delay.ms": "0",
        "group.max.session.timeout.ms": str(SESSION_MS),
        **(AUTHORIZER if has_rules else {}),
    }


def _start_ours(python: str) -> Start:
    def start(
        directory: Path, core: set[int], ports: Ports, settings: dict[str, str]
    ) -> AbstractContextManager[Running]:
        config = directory / "server.properties"
        settings |= {"log.flush.policy": "interval"}
        config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        command = [python, "-m", "coordinator", "serve", "--config", str(config), "--listen", _addresses(ports)]
        command += ["--http", "off", "--port-file", str(directory / "port"), "--data-dir", str(directory / "data")]
        return running(OURS, command, directory, core)

    return start


def _start_kafka(
    directory: Path, core: set[int], ports: Ports, settings: dict[str, str]
) -> AbstractContextManager[Running]:
    (controller,) = free_ports(1)
    settings |= {
        "listeners": f"{_addresses(ports)},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": _addresses(ports),
        "listener.security.protocol.map": "".join(f"{name}:{name}," for name in ports) + "CONTROLLER:PLAINTEXT",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        f"listener.name.sasl_plaintext.{SCRAM.lower()}.sasl.jaas.config": SCRAM_USERS,
        f"listener.name.sasl_ssl.{SCRAM.lower()}.sasl.jaas.config": SCRAM_USERS,
    }
    server = peers_at_hand.prepared(directory, settings)
    server.port = ports["PLAINTEXT"]
    return peers_at_hand.run_kafka(server, core)


def _addresses(ports: Ports) -> str:
    return ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())


def _fill(port: int, *, has_rules: bool) -> None:
    """Create the topic, a record to read, the user, and the rules."""
    assert create_topic(port, TOPIC, PARTITIONS) == ErrorCode.NONE
    eventually(lambda: _is_written(port), "the topic has leaders", within_s=30)
    salted = hashlib.pbkdf2_hmac("sha512", PASSWORD.encode(), SALT, ITERATIONS)
    user = ScramCredentialUpsertion(
        name=SCRAM_USER, mechanism=SCRAM_SHA_512.type, iterations=ITERATIONS, salt=SALT, salted_password=salted
    )
    created = call(port, AlterUserScramCredentialsRequest(deletions=[], upsertions=[user]), 0)
    assert not created.results[0].error_code, created
    if has_rules:
        answer = call(port, CreateAclsRequest(creations=_rules()), 3)
        assert not any(each.error_code for each in answer.results), answer.results[0]
        eventually(lambda: _is_refused(port), "the rules are in force", within_s=30)


def _is_written(port: int) -> bool:
    answers = [call(port, produce(each), 9) for each in (READ, WRITTEN, PARTITIONS - 1)]
    return not any(each.responses[0].partition_responses[0].error_code for each in answers)


def _is_refused(port: int) -> bool:
    asked = MetadataRequest(topics=[MetadataRequestTopic(name="other-0")], allow_auto_topic_creation=False)
    return bool(call(port, asked, 9).topics[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def _rules() -> list[AclCreation]:
    """Return six rules that allow what is asked, and those of other users."""
    kinds = (
        (ResourceType.TOPIC, TOPIC, PatternType.LITERAL, AclOperation.READ),
        (ResourceType.TOPIC, TOPIC, PatternType.LITERAL, AclOperation.WRITE),
        (ResourceType.GROUP, GROUP_PREFIX, PatternType.PREFIXED, AclOperation.READ),
    )
    rows = [(*kind, user) for user in ("ANONYMOUS", SCRAM_USER) for kind in kinds]
    for number in range(RULES - len(rows)):
        resource = (ResourceType.TOPIC, ResourceType.GROUP)[number % 2]
        pattern = PatternType.PREFIXED if number % 5 == 4 else PatternType.LITERAL
        rows.append((resource, f"other-{number}", pattern, AclOperation.READ, f"user-{number % 50}"))
    return [
        AclCreation(
            resource_type=resource,
            resource_name=name,
            resource_pattern_type=pattern,
            principal=f"User:{user}",
            host="*",
            operation=operation,
            permission_type=Permission.ALLOW,
        )
        for resource, name, pattern, operation, user in rows
    ]


class Bench:
    """All servers, and the lowest figure of each cell: CPU time in µs."""

    def __init__(self, args: argparse.Namespace, stack: ExitStack) -> None:
        self._args, self._stack = args, stack
        self._work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="security-", dir=args.work_dir)))
        authority = Authority(self._work)
        self._certificate = authority.issue("server")
        self._tls = ssl.create_default_context(cafile=authority.pem)
        self._tls.minimum_version = ssl.TLSVersion.TLSv1_3
        self._up: dict[tuple[str, bool], Up] = {}
        self._loads: dict[tuple[str, Setting], Load] = {}
        self.runs: dict[str, dict[str, list[float]]] = {}
        self.ciphers: dict[str, str] = {}

    def start(self, name: str, start: Start) -> None:
        for has_rules in (False, True):
            directory = self._work / f"{name.replace(' ', '-')}-{has_rules}"
            directory.mkdir()
            ports = dict(zip(PROTOCOLS, free_ports(len(PROTOCOLS)), strict=True))
            settings = _settings(self._certificate, has_rules=has_rules)
            server = self._stack.enter_context(start(directory, cores()[0], ports, settings))
            _fill(ports["PLAINTEXT"], has_rules=has_rules)
            self._up[name, has_rules] = Up(server, ports)
        for setting in SETTINGS:
            up = self._up[name, setting.has_rules]
            load = Load(up.ports[setting.protocol], self._tls_of(setting.protocol), PROTOCOLS[setting.protocol])
            self._stack.callback(load.close)
            self._loads[name, setting] = load
            if load.cipher:
                self.ciphers[name] = load.cipher
        if name == KAFKA:
            self.round((name,), self._args.jvm_warmup)
            self.runs.clear()

    def _tls_of(self, protocol: str) -> ssl.SSLContext | None:
        return self._tls if protocol.endswith("SSL") else None

    def round(self, names: Sequence[str], seconds: float) -> None:
        """Measure every cell of these servers once, beside each other."""
        for shape in SHAPES:
            for setting in SETTINGS:
                for name in names:
                    server = self._up[name, setting.has_rules].server
                    found = self._loads[name, setting].measure(server, shape, seconds)
                    self._note(name, f"{shape.name}: {setting.name}", found)
        for login in LOGINS:
            for name in names:
                if login.is_of_kafka or name != KAFKA:
                    server, ports = self._up[name, False]
                    tls = self._tls_of(login.protocol)
                    found = measure_logins(server, ports[login.protocol], tls, login.login, 2 * seconds)
                    self._note(name, f"login: {login.name}", found)

    def _note(self, name: str, what: str, cost_us: float) -> None:
        self.runs.setdefault(what, {}).setdefault(name, []).append(cost_us)

    def lowest(self, name: str, what: str) -> float:
        return min(self.runs[what][name])


def _tables(findings: Findings, bench: Bench, names: Sequence[str]) -> None:
    headings = ["request", *(each.name for each in SETTINGS)]
    for name in names:
        rows = []
        for shape in SHAPES:
            costs = [bench.lowest(name, f"{shape.name}: {each.name}") for each in SETTINGS]
            rows.append([shape.name, f"{costs[0]:.1f}", *(f"{each:.1f} ({each / costs[0]:.2f})" for each in costs[1:])])
        findings.table(f"{name}: CPU µs per request (times that of PLAINTEXT)", markdown_table(headings, rows))
    if KAFKA in names:
        for name in names[:-1]:
            rows = [
                [shape.name, *(_ratio(bench, name, f"{shape.name}: {each.name}") for each in SETTINGS)]
                for shape in SHAPES
            ]
            findings.table(
                f"{name}: CPU time per request, of Kafka's with the same settings", markdown_table(headings, rows)
            )
    rows = []
    for login in LOGINS:
        measured = bench.runs[f"login: {login.name}"]
        row = [f"{min(measured[name]):,.0f}" if name in measured else "-" for name in names]
        rows.append([login.name, *row])
    findings.table("CPU µs of a new connection that logs in, and ends", markdown_table(("login", *names), rows))


def _ratio(bench: Bench, name: str, what: str) -> str:
    return f"{bench.lowest(name, what) / bench.lowest(KAFKA, what):.2f}"


def _has_security(python: str) -> bool:
    command = [python, "-c", "import coordinator.security.tls_listener"]
    return subprocess.run(command, cwd="/", capture_output=True).returncode == 0


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, help="how often each cell is measured (default 10; --quick 1)")
    options.add_argument("--seconds", type=float, help="measured seconds each time (default 0.2; --quick 0.1)")
    options.add_argument(
        "--jvm-warmup", type=float, help="seconds for each cell of Kafka first (default 4; --quick 0.1)"
    )
    options.add_argument("--without-kafka", action="store_true", help="ours alone")
    options.add_argument("--compiled-python", default=str(COMPILED), help="that of the compiled build, if there is one")
    args = options.parse_args()
    for name, long, short in (("rounds", 10, 1), ("seconds", 0.2, 0.1), ("jvm_warmup", 4.0, 0.1)):
        if getattr(args, name) is None:
            setattr(args, name, short if args.quick else long)
    findings = Findings("security", "The cost of TLS, SASL and access rules")
    starts: dict[str, Start] = {OURS: _start_ours(args.python)}
    if Path(args.compiled_python).exists():
        if _has_security(args.compiled_python):
            starts[OURS_COMPILED] = _start_ours(args.compiled_python)
        else:
            findings.not_run.append(f"{args.compiled_python}: this build has no TLS; run make compiled-venv")
    if not args.without_kafka:
        starts[KAFKA] = _start_kafka
    with ExitStack() as stack:
        bench = Bench(args, stack)
        names = [name for name, start in starts.items() if findings.attempt(name, partial(bench.start, name, start))]
        loads = []
        for number in range(args.rounds):
            findings.attempt(f"ours and the others, round {number + 1}", partial(bench.round, names, args.seconds))
            loads.append(os.getloadavg()[0])
        findings.lines += ["", _about(args, bench, loads)]
    if bench.runs:
        _tables(findings, bench, names)
    findings.raw |= {"cost_us": bench.runs, "load_average": loads, "ciphers": bench.ciphers}
    return findings.finish(args)


def _about(args: argparse.Namespace, bench: Bench, loads: Sequence[float]) -> str:
    ciphers = ", ".join(f"{name} {cipher}" for name, cipher in bench.ciphers.items())
    return (
        f"{CONNECTIONS} connections, one request in flight on each; the lowest of {args.rounds} rounds of "
        f"{args.seconds:g} s; SASL is {SCRAM}, TLS is 1.3 ({ciphers}) with a key on P-256. The load average was "
        f"{min(loads):.1f} to {max(loads):.1f}: over 2, others used the machine."
        + ("" if args.without_kafka else f" Kafka is {kafka_version()}.")
    )


if __name__ == "__main__":
    sys.exit(main())
