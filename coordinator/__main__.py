"""`python -m coordinator`, and the console script `coordinator`."""

from __future__ import annotations

import sys

from coordinator.cli.main import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
