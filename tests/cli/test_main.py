"""The command line: help, exit codes, the table of settings, and settings from every source."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from coordinator.cli import config as config_command
from coordinator.cli import main as main_module
from coordinator.cli import serve
from coordinator.cli.main import COMMANDS, main
from coordinator.config.config import Config, keys
from coordinator.version import is_compiled

ROOT = Path(__file__).resolve().parents[2]


def parsed(*words: str, environ: dict[str, str] | None = None) -> Config:
    """Return the settings of `coordinator serve WORDS`."""
    arguments = main_module.parser_of("serve").parse_args(words)
    return serve.config_from(arguments, environ or {})


def test_help_is_printed_without_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    out = capsys.readouterr().out
    for name in COMMANDS:
        assert f"  {name}" in out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert f"usage: coordinator {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words", [["nonsense"], ["serve", "--nonsense"], ["groups", "nonsense"], ["cluster"], ["groups", "kick"]]
)
def test_wrong_call_ends_with_exit_code_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_version_is_printed_with_the_running_build(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    kind = "compiled" if is_compiled() else "plain"
    assert re.fullmatch(rf"kafka-group-coordinator .+ \({kind}, CPython 3\.\d+\)\n", told)


def test_flags_change_settings() -> None:
    config = parsed(
        *("--listen", "0.0.0.0:0", "--advertised", "kafka.example:9092", "--data-dir", "/var/lib/coordinator"),
        *("--topic", "orders:12", "--topic", "payments:3", "--http", "off"),
    )
    assert config.listen_address == ("0.0.0.0", 0)
    assert config.advertised_address == ("kafka.example", 9092)
    assert config.log_dirs == "/var/lib/coordinator"
    assert config.preloaded_topics == {"orders": 12, "payments": 3}
    assert config.http_address is None


def test_a_flag_beats_an_override_beats_the_environment_beats_the_file(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=1\ngroup.max.size=1\nlisteners=:1\nmax.groups=1\n", encoding="utf-8")
    environ = {"COORDINATOR_NUM_PARTITIONS": "2", "COORDINATOR_GROUP_MAX_SIZE": "2", "COORDINATOR_LISTENERS": ":2"}
    overrides = ["--override", "num.partitions=3", "--override", "listeners=:3"]
    config = parsed("--config", str(file), *overrides, "--listen", ":4", environ=environ)
    assert (config.listen_address.port, config.num_partitions, config.group_max_size, config.max_groups) == (4, 3, 2, 1)


def test_started_daemon_prints_its_address_and_a_command_to_try(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    serve.announce(Config(), "0.0.0.0:4711")
    serve.announce(parsed("--advertised", "kafka.example:1", "--topic", "pay:3"), "0.0.0.0:4711")
    assert capsys.readouterr().out.splitlines() == [
        "listening on 0.0.0.0:4711",
        "try it: kcat -b 127.0.0.1:4711 -G my-group orders   (or any other Kafka client)",
        "listening on 0.0.0.0:4711",
        "try it: kcat -b kafka.example:1 -G my-group pay   (or any other Kafka client)",
    ]
    monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv/bin/python"))
    serve.announce(Config(), "127.0.0.1:9092")
    assert capsys.readouterr().out.splitlines()[1] == (
        "try it: .venv/bin/python -m pip install -q kafka-python"
        " && .venv/bin/python -m kafka.consumer -b 127.0.0.1:9092 -g my-group -t orders"
    )


SENTENCES = [
    (["--override", "group.max.siz=1"], "there is no setting 'group.max.siz'; did you mean group.max.size?"),
    (["--listen", "9092"], "listeners: '9092' is not an address; write host:port"),
    (["--topic", "a b"], "topics.preload: 'a b' is not a topic name"),
    (["--config", "/nowhere/x"], "--config /nowhere/x cannot be read (No such file or directory); give the path"),
    (["--config", "/"], "--config / cannot be read (Is a directory); give the path of a properties file"),
    (["--port-file", "/"], "--port-file / is a directory; give the path of a file"),
    (["--port-file", "/nowhere/port"], "--port-file /nowhere/port: the directory /nowhere does not exist"),
]


@pytest.mark.parametrize(("words", "sentence"), SENTENCES)
def test_errors_of_the_user_are_one_sentence_and_exit_code_2(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", *words]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"coordinator: {sentence}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("host", ["foo..bar", "x" * 64 + ".example"])
def test_a_host_that_can_be_no_name_is_one_sentence(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", "list", "-b", f"{host}:9092"]) == 2
    assert capsys.readouterr().err.startswith(f"coordinator: cannot connect to {host}:9092 (")


def test_a_file_that_is_not_text_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.properties"
    file.write_bytes(b"a=\xff\xfe")
    assert main(["serve", "--config", str(file)]) == 2
    assert "is not text in UTF-8" in capsys.readouterr().err


def test_every_setting_is_listed_with_default_range_and_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config"]) == 0
    out = capsys.readouterr().out
    for key in keys().values():
        assert f"{key.name}\n    {key.type}, default {config_command.shown(key) or 'empty'}" in out
    assert main(["config", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in listed] == list(keys())
    assert listed[0]["environment"] == "COORDINATOR_LISTENERS"


def test_settings_can_be_searched(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "SESSION.timeout", "--json"]) == 0
    names = [each["name"] for each in json.loads(capsys.readouterr().out)]
    assert names == [name for name in keys() if "session.timeout" in name]
    assert names[:2] == ["group.min.session.timeout.ms", "group.max.session.timeout.ms"]
    assert main(["config", "nosuchthing"]) == 2
    assert "no setting has 'nosuchthing'" in capsys.readouterr().err


def test_the_page_about_settings_is_up_to_date() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert page == config_command.as_markdown(), "run: make generate"


def test_page_can_be_limited_to_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "history.dir", "--markdown"]) == 0
    printed = capsys.readouterr().out
    assert "| `history.dir`" in printed and "| `node.id`" not in printed


@pytest.mark.integration
def test_closed_pipe_ends_the_command_without_an_error() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "coordinator", "config"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(20) == 0


@pytest.mark.integration
def test_a_command_imports_only_what_it_needs() -> None:
    """Help and settings load without the server, and the client without the core, for a short start-up."""
    script = (
        "import sys; from coordinator.cli.main import main; main(['config', '--json']); "
        "heavy = {'asyncio', 'uvloop', 'prometheus_client', 'protocol.codec', 'coordinator.server.server', 'logging'}; "
        "sys.exit(str(heavy & sys.modules.keys()) if heavy & sys.modules.keys() else 0)"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=60, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.integration
def test_verbs_of_groups_and_topics_import_neither_the_server_nor_an_extra() -> None:
    """They run in a plain installation, and start in less than a quarter of a second."""
    script = (
        "import sys; from importlib import import_module; "
        "from coordinator.cli.groups.command import VERBS as groups; "
        "from coordinator.cli.topics.command import VERBS as topics; "
        "[import_module(verb.module) for verb in (*groups.values(), *topics.values())]; "
        "heavy = {'asyncio', 'uvloop', 'numpy', 'pyarrow', 'rich', 'ssl', 'difflib'}; "
        "heavy |= {'coordinator.server', 'coordinator.core.group'}; "
        "sys.exit(str(heavy & sys.modules.keys()) if heavy & sys.modules.keys() else 0)"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=60, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
