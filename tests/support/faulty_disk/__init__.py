"""Disk faults for real processes, injected by `sitecustomize.py`."""

from __future__ import annotations

import os
from pathlib import Path


class FaultyDisk:
    """Makes writes below a directory fail in processes started with `environment`, from `fail` to `heal`."""

    def __init__(self, order: Path) -> None:
        self._order = order

    @property
    def environment(self) -> dict[str, str]:
        path = os.pathsep.join(filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH"))))
        return {"PYTHONPATH": path, "FAULTY_DISK": str(self._order)}

    def fail(self, number: int, directory: Path) -> None:
        partial = self._order.with_suffix(".partial")
        partial.write_text(f"{number}\n{directory}\n")
        partial.replace(self._order)

    def heal(self) -> None:
        self._order.unlink()
