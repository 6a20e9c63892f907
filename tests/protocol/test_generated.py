"""The generated code is up to date, shares equal functions, and is loaded only when needed."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from protocol import codec
from protocol.api_keys import ApiKey
from protocol.errors import ProtocolError, UnsupportedVersionError
from protocol.generate import GENERATED, generated_files, main, stale_files
from protocol.messages.offsets_log import OffsetValue

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def expected() -> dict[str, str]:
    return generated_files()


def test_the_generated_code_is_not_stale() -> None:
    assert stale_files() == [], "run `make generate`"
    assert main(["--check"]) == 0


def test_a_changed_a_missing_and_a_surplus_file_are_stale(tmp_path: Path, expected: dict[str, str]) -> None:
    for name, text in expected.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "heartbeat.py").write_text(expected["heartbeat.py"] + "\n", encoding="utf-8")
    (tmp_path / "fetch.py").unlink()
    (tmp_path / "no_such_api.py").write_text("", encoding="utf-8")
    assert stale_files(tmp_path) == ["fetch.py", "heartbeat.py", "no_such_api.py"]


def test_versions_with_the_same_bytes_share_one_decoder_and_one_encoder() -> None:
    heartbeat: Any = import_module("protocol.generated.heartbeat")
    assert heartbeat.DECODE_REQUEST[0] is heartbeat.DECODE_REQUEST[2]
    assert heartbeat.DECODE_REQUEST[2] is not heartbeat.DECODE_REQUEST[3]
    assert heartbeat.ENCODE_RESPONSE[1] is heartbeat.ENCODE_RESPONSE[3]


@pytest.mark.parametrize("key", ApiKey)
def test_the_tables_have_every_declared_version_and_no_other(key: ApiKey) -> None:
    module: Any = import_module(f"protocol.generated.{key.module_name}")
    for table in (module.DECODE_REQUEST, module.ENCODE_REQUEST, module.DECODE_RESPONSE, module.ENCODE_RESPONSE):
        assert list(table) == list(codec.declared_versions(key))


@pytest.mark.parametrize(("key", "version"), [(999, 0), (12, 5), (12, -1), (-1, 0)])
def test_an_unknown_key_or_version_has_no_codec(key: int, version: int) -> None:
    for lookup in (codec.request_decoder, codec.request_encoder, codec.response_decoder, codec.response_encoder):
        with pytest.raises(UnsupportedVersionError):
            lookup(key, version)
    with pytest.raises(UnsupportedVersionError):
        codec.is_flexible(key, version)
    assert version not in codec.declared_versions(key)


def test_the_codec_refuses_messages_that_are_not_requests_or_responses() -> None:
    with pytest.raises(ProtocolError, match="OffsetValue"):
        codec.encode_request(OffsetValue(), 1)


def test_only_the_apis_that_are_used_are_loaded() -> None:
    program = (
        "import sys; from protocol import codec; codec.request_decoder(12, 4); "
        "print(sorted(name for name in sys.modules if name.startswith('protocol.generated.')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "['protocol.generated.heartbeat', 'protocol.generated.index']"


def test_generated_files_name_their_declaration() -> None:
    for path in GENERATED.glob("*.py"):
        assert "protocol.generate" in path.read_text(encoding="utf-8")[:400], path.name
