"""The image in the place of Kafka's container: `make container-test`.

Testcontainers' own modules start the image, each by a program of its language that does what docs/testcontainers.md
shows. A client joins a group from this machine, by the address that the module gives, and another one from a container
on the same network, by the listener BROKER. Then containers are started as compose files for three images of Kafka do.

It needs a container engine, and says so when there is none. Ryuk, which removes containers of programs that crashed, is
an image of its own and is not used; what a program leaves behind is removed at the end.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from coordinator.config.kafka_container import ready_line
from tests.clients.matrix_programs import BrokenError, Missing, built, jars, need
from tests.clients.matrix_programs import run as built_by
from tests.cluster.engine import CannotRunError, Engine, build, compose_command, run, say
from tests.containers.images import IMAGES
from tests.support.npm_packages import installed

HERE: Final = Path(__file__).resolve().parent
IMAGE: Final = "kafka-group-coordinator:0.1.0"  # the programs and docs/testcontainers.md name it, too
CLIENTS: Final = "kafka-group-coordinator-clients"
PROJECT: Final = "coordinator-container-test"
READY_S: Final = 60.0
# No image of Ryuk is pulled. The engine is on this machine, also where the machine itself looks like a container.
SURROUNDINGS: Final = {"TESTCONTAINERS_RYUK_DISABLED": "true", "TESTCONTAINERS_HOST_OVERRIDE": "localhost"}
MEMBER: Final = HERE / "member.py"


def python() -> list[str]:
    return [sys.executable, str(HERE / "python" / "started.py")]


def java() -> list[str]:
    libraries = jars("0", HERE / "java" / "pom.xml", "testcontainers-jars")
    return [need("java"), "-cp", f"{libraries}/*", str(HERE / "java" / "Started.java")]


def go() -> list[str]:
    source = HERE / "go"

    def compile_it(fresh: Path) -> None:
        built_by([need("go"), "build", "-o", str(fresh / "started"), "."], cwd=source, attempts=2)

    return [str(built("testcontainers-go", [source / "main.go", source / "go.sum"], compile_it) / "started")]


def node() -> list[str]:
    modules = installed(HERE / "node") / "node_modules"
    return ["env", f"NODE_PATH={modules}", need("node"), str(HERE / "node" / "started.js")]


# The program of a language, and the names of the classes or images for which ours stands in there.
MODULES: Final[dict[str, tuple[Callable[[], list[str]], tuple[str, ...]]]] = {
    "python": (python, ("cp-kafka",)),
    "go": (go, ("confluent-local",)),
    "java": (java, ("apache", "confluent", "old")),
    "node": (node, ("cp-kafka",)),
}
USUAL: Final = ("python", "go", "java")


def told(*command: str) -> str:
    """Run a member, which must be assigned the only partition, and return the address that it was told."""
    said = run(*command)
    words = said.splitlines()[-1].split()
    assert words[0::2] == ["told", "assigned"] and words[3] == "orders-0", said
    return words[1]


def told_here(address: str) -> str:
    return told(sys.executable, str(MEMBER), address)


def told_in_a_container(network: str, address: str) -> str:
    source = MEMBER.read_text(encoding="utf-8")
    command = ("docker", "run", "--rm", "--network", network, "--entrypoint", "python", CLIENTS)
    return told(*command, "-c", source, address)


def log_of(container: str) -> str:
    return run("docker", "logs", container)


def check_module(language: str) -> None:
    """Let a module start the image in each of its ways; try each from outside and from inside."""
    command, kinds = MODULES[language]
    with subprocess.Popen(
        [*command(), *kinds],
        env={**os.environ, **SURROUNDINGS},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdin is not None and program.stdout is not None
        for kind in kinds:
            begun = time.monotonic()
            line = next((line for line in program.stdout if line.startswith("started ")), "")
            assert line, f"the program for {language} ended before it had started {kind}"
            _, _, outside, inside, network = line.split()
            took = time.monotonic() - begun
            assert told_here(outside) == outside
            broker = told_in_a_container(network, inside)
            assert broker.rpartition(":")[2] == inside.rpartition(":")[2] and broker != outside, (broker, inside)
            (container,) = run("docker", "ps", "-q", "--filter", f"network={network}").split()
            assert log_of(container).count(ready_line(1)) == 1
            say(f"{language}, {kind}: started after {took:.1f} s; members at {outside} and {broker}")
            program.stdin.write("\n")
            program.stdin.flush()
    assert program.returncode == 0, f"the program for {language} ended with {program.returncode}"


def check_variables(name: str) -> None:
    """Start a container with the variables of a compose file; a member joins from beside it."""
    variables = [word for key, value in IMAGES[name].items() for word in ("--env", f"{key}={value}")]
    run("docker", "network", "create", PROJECT)
    try:
        names = ("--hostname", "kafka", "--network-alias", "kafka")
        container = run("docker", "run", "-d", "--network", PROJECT, *names, *variables, IMAGE).strip()
        try:
            deadline = time.monotonic() + READY_S
            while ready_line(1) not in log_of(container):
                assert time.monotonic() < deadline and run("docker", "ps", "-q", "--filter", f"id={container[:12]}"), (
                    f"{name} is not ready: {log_of(container)}"
                )
                time.sleep(0.1)
            network = PROJECT if variables else f"container:{container}"
            address = "kafka:29092" if variables else "localhost:9092"
            assert told_in_a_container(network, address) == address
            say(f"variables of {name}: a member at {address}")
        finally:
            run("docker", "rm", "-f", "-v", container)
    finally:
        run("docker", "network", "rm", PROJECT)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make container-test", description=__doc__)
    parser.add_argument("--modules", default=",".join(USUAL), help=f"of {', '.join(MODULES)}")
    parser.add_argument("--no-build", action="store_true", help="the images are there already")
    options = parser.parse_args(arguments)
    try:
        engine = Engine(compose_command(), PROJECT)
    except CannotRunError as error:
        print(f"container test not run: {error}")
        return 2
    try:
        if not options.no_build:
            build(engine, "coordinator-1", "clients-confluent-kafka")
            run("docker", "tag", "kafka-group-coordinator", IMAGE)
        assert run("docker", "run", "--rm", IMAGE, "--version").startswith("kafka-group-coordinator ")
        for language in options.modules.split(","):
            check_module(language)
        for name in IMAGES:
            check_variables(name)
    except (AssertionError, RuntimeError, Missing, BrokenError) as error:
        print(f"container test failed: {error}")
        return 1
    finally:
        left_behind = run(
            "docker", "ps", "-aq", "--filter", f"ancestor={IMAGE}", "--filter", "label=org.testcontainers"
        )
        if left_behind:
            run("docker", "rm", "-f", "-v", *left_behind.split())
    print("container test passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
