"""The environment of a user who has pipx and uv, an empty home, and no settings of this project."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from tests.docs.stage import NOT_A_NEWCOMERS
from tests.support.built import CALM

PROGRAMS: Final = Path(sys.executable).parent


def newcomer(home: Path) -> dict[str, str]:
    """Return the variables. Caches of pip and uv are in `home`, and are empty with it."""
    kept = {name: value for name, value in CALM.items() if not name.startswith((*NOT_A_NEWCOMERS, "PIPX_", "XDG_"))}
    return {
        **kept,
        "HOME": str(home),
        "TMPDIR": str(home),
        "PATH": f"{PROGRAMS}{os.pathsep}{CALM['PATH']}",
        "COORDINATOR_HTTP_LISTEN": "off",
        "COORDINATOR_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
        "UV_CACHE_DIR": str(home / "uv"),
        "UV_PYTHON": sys.executable,
        "UV_PYTHON_DOWNLOADS": "never",
    }
