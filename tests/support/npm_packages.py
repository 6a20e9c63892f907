"""Packages from npm, installed once from a lock file into a cache outside the repository."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.support.machine_tools import not_run, require_tool


def installed(source: Path) -> Path:
    """Install the packages of the lock file in `source`; returns their folder, named by the content of that file."""
    require_tool("node", "nodejs")
    npm = require_tool("npm")
    lock = (source / "package-lock.json").read_bytes()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafka-group-coordinator"
    folder = cache / f"{source.name}-{hashlib.sha256(lock).hexdigest()[:12]}"
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as name:  # beside it first: another run may do the same
        fresh = Path(name) / source.name
        fresh.mkdir()
        for each in ("package.json", "package-lock.json"):
            shutil.copy(source / each, fresh)
        done = subprocess.run(
            [npm, "ci", "--no-audit", "--no-fund"], cwd=fresh, capture_output=True, text=True, timeout=180
        )
        if done.returncode != 0:
            not_run(f"let npm reach its registry (npm ci said: {done.stderr.strip()[-300:]})")
        if not folder.is_dir():
            fresh.rename(folder)
    return folder
