"""Entry point of `python -m coordinator` and of the console script `coordinator`."""

from __future__ import annotations

import gc
import sys

gc.set_threshold(
    100_000, 50, 100
)  # imports allocate much and leave no garbage; the daemon sets its own thresholds later

from coordinator.cli.main import main  # noqa: E402 - after gc.set_threshold

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
