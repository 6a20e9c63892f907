"""`python -m coordinator`, and the console script `coordinator`."""

from __future__ import annotations

import gc
import sys

gc.set_threshold(100_000, 50, 100)  # importing makes much and no garbage; a daemon then sets what suits it

from coordinator.cli.main import main  # noqa: E402 - after the collector was told

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
