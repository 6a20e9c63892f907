"""The cluster test on a real container engine: `make cluster-test`.

Brings up the three nodes, the compaction service and the clients of docker-compose.yml under a project of its own, then
walks through `FAULTS`: a node is killed, all are rolled one after another, one is stopped for longer than the session
timeouts, one is cut off the network. Compaction goes on meanwhile. After each fault every node has to be healthy and
every client has to make progress again by itself; at the end `workload/promises.py`, run on the cluster's own network,
says whether anything that was acknowledged is missing. The last line is `promises broken: 0`, as is the exit code.

It needs an engine and `docker-compose` (or the compose plugin), and says so when there is none. A base image that can
not be pulled is built by `.ci/stand-in-base`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PROJECT: Final = "coordinator-cluster-test"
NODES: Final = ("coordinator-1", "coordinator-2", "coordinator-3")
ADDRESSES: Final = ",".join(f"{node}:9092" for node in NODES)
BASE_IMAGE: Final = "python:3.12-slim"
HEALTHY_S: Final = 90.0
PROGRESS_S: Final = 120.0
AWAY_S: Final = 12.0  # twice the clients' session timeout
COMPACTED_S: Final = 240.0


class CannotRunError(Exception):
    """There is nothing to run it on. The message is one sentence that says what to do."""


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)


def run(*command: str, quiet: bool = True, check: bool = True) -> str:
    done = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-4000:]}")
    if not quiet:
        print(done.stdout, end="", flush=True)
    return done.stdout


def compose_command() -> list[str]:
    """`docker compose` where the plugin is, else `docker-compose`."""
    if shutil.which("docker") is None:
        raise CannotRunError("there is no `docker`; install it (Debian: apt-get install docker.io docker-compose)")
    if subprocess.run(["docker", "info"], capture_output=True, check=False).returncode:
        raise CannotRunError("no container engine answers; start one (`dockerd`, as root, in the background)")
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode == 0:
        return ["docker", "compose"]
    if shutil.which("docker-compose") is None:
        raise CannotRunError("there is no compose; install it (Debian: apt-get install docker-compose)")
    return ["docker-compose"]


class Engine:
    """The containers of one project."""

    def __init__(self, compose: Sequence[str], project: str) -> None:
        self._compose = (*compose, "-p", project)
        self._network = f"{project}_cluster"

    def compose(self, *arguments: str, quiet: bool = True, check: bool = True) -> str:
        return run(*self._compose, "--profile", "clients", *arguments, quiet=quiet, check=check)

    def container(self, service: str) -> str:
        return self.compose("ps", "-q", service).split()[0]

    def health(self, service: str) -> str:
        template = "{{if .State.Health}}{{.State.Health.Status}}{{else}}{{.State.Status}}{{end}}"
        return run("docker", "inspect", "-f", template, self.container(service), check=False).strip()

    def wait_healthy(self, services: Sequence[str]) -> None:
        deadline = time.monotonic() + HEALTHY_S
        while ill := {each: state for each in services if (state := self.health(each)) != "healthy"}:
            if time.monotonic() > deadline:
                raise AssertionError(f"not healthy within {HEALTHY_S:g} s: {ill}\n{self.compose('logs', '--tail=40')}")
            time.sleep(1)

    # -- what can happen to a node -------------------------------------------------------------------------------

    def kill(self, node: str) -> None:
        run("docker", "kill", "--signal", "KILL", self.container(node))

    def start(self, node: str) -> None:
        run("docker", "start", self.container(node))

    def roll(self, node: str) -> None:
        run("docker", "restart", "--time", "20", self.container(node))

    def pause(self, node: str) -> None:
        run("docker", "pause", self.container(node))

    def resume(self, node: str) -> None:
        run("docker", "unpause", self.container(node))

    def cut(self, node: str) -> None:
        run("docker", "network", "disconnect", self._network, self.container(node))

    def mend(self, node: str) -> None:
        run("docker", "network", "connect", "--alias", node, self._network, self.container(node))

    # -- what the clients and nodes say --------------------------------------------------------------------------

    def promises(self, since: float) -> tuple[int, str]:
        """Return the number of broken promises and the output of the check."""
        text = self.compose(
            "exec", "-T", "clients-confluent-kafka", "python", "-m", "tests.cluster.workload.promises",
            "--bootstrap-server", ADDRESSES, "--diaries", "/diaries", "--since", f"{since:.3f}", check=False,
        )  # fmt: skip
        last = [line for line in text.splitlines() if line.startswith("promises broken: ")]
        return (int(last[-1].rpartition(" ")[2]) if last else -1), text

    def wait_for_progress(self, since: float) -> None:
        """Wait until each client has had a success after `since`."""
        code = (
            "import sys, json, pathlib; from tests.cluster.workload.promises import read_promises; "
            "print(json.dumps(read_promises(pathlib.Path('/diaries')).last_progress))"
        )
        deadline = time.monotonic() + PROGRESS_S
        while True:
            text = self.compose("exec", "-T", "clients-confluent-kafka", "python", "-c", code).strip()
            last: dict[str, float] = json.loads(text.splitlines()[-1])
            waiting = sorted(client for client, at in last.items() if at < since)
            if last and not waiting:
                return
            if time.monotonic() > deadline:
                raise AssertionError(f"no progress within {PROGRESS_S:g} s of: {', '.join(waiting) or 'any client'}")
            time.sleep(1)

    def compactions(self) -> int:
        """Swaps that the nodes have logged so far."""
        return self.compose("logs", *NODES).count("compaction swapped")


def killed(engine: Engine) -> None:
    engine.kill(NODES[1])
    time.sleep(3)
    engine.start(NODES[1])


def rolled(engine: Engine) -> None:
    for node in NODES:
        engine.roll(node)
        engine.wait_healthy(NODES)


def stopped_for_a_while(engine: Engine) -> None:
    engine.pause(NODES[0])
    time.sleep(AWAY_S)
    engine.resume(NODES[0])


def cut_off(engine: Engine) -> None:
    engine.cut(NODES[2])
    time.sleep(AWAY_S)
    engine.mend(NODES[2])


FAULTS: Final[dict[str, Callable[[Engine], None]]] = {
    f"{NODES[1]} is killed and started again": killed,
    "all nodes are rolled, one after another": rolled,
    f"{NODES[0]} is stopped for {AWAY_S:g} s": stopped_for_a_while,
    f"{NODES[2]} is cut off the network for {AWAY_S:g} s": cut_off,
}


def build(engine: Engine, *services: str) -> None:
    """Build the images of these services, or of all."""
    if subprocess.run(["docker", "image", "inspect", BASE_IMAGE], capture_output=True, check=False).returncode and (
        subprocess.run(["docker", "pull", "-q", BASE_IMAGE], capture_output=True, check=False).returncode
    ):
        say(f"{BASE_IMAGE} cannot be pulled: building a stand-in")
        run(str(ROOT / ".ci" / "stand-in-base"), BASE_IMAGE)
    say("building the images")
    engine.compose("build", *services)


def walk(engine: Engine) -> int:
    """Bring everything up, break it, and judge. Returns how many promises are broken."""
    say("starting three nodes")
    engine.compose("up", "-d", *NODES)
    engine.wait_healthy(NODES)
    started = time.time()
    say("starting compaction and the clients of three libraries")
    engine.compose("up", "-d")
    engine.wait_for_progress(started)
    since = started
    for name, fault in FAULTS.items():
        say(name)
        fault(engine)
        engine.wait_healthy(NODES)
        since = time.time()
        engine.wait_for_progress(since)
        say(f"  every client went on, {time.time() - since:.0f} s after it was mended")
    deadline = time.monotonic() + COMPACTED_S
    while engine.compactions() == 0:
        if time.monotonic() > deadline:
            raise AssertionError(
                f"no log was compacted within {COMPACTED_S:g} s:\n{engine.compose('logs', '--tail=60')}"
            )
        time.sleep(2)
    engine.wait_for_progress(time.time())
    say("asking for what was promised")
    broken, text = engine.promises(since)
    print(f"faults: {len(FAULTS)}\ncompactions swapped in: {engine.compactions()}\n{text}", end="", flush=True)
    return broken


def main() -> int:
    parser = argparse.ArgumentParser(prog="make cluster-test", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="leave everything running afterwards")
    parser.add_argument("--project", default=PROJECT)
    arguments = parser.parse_args()
    try:
        engine = Engine(compose_command(), arguments.project)
    except CannotRunError as error:
        print(f"cluster test not run: {error}")
        return 2
    engine.compose("down", "-v", "--remove-orphans", check=False)
    try:
        build(engine)
        broken = walk(engine)
    except (AssertionError, RuntimeError) as error:
        print(error)
        print("cluster test failed")
        return 1
    finally:
        if not arguments.keep:
            engine.compose("down", "-v", "--remove-orphans", check=False)
    return 0 if broken == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
