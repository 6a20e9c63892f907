"""Run one target under libFuzzer: `python -m tests.fuzz.libfuzzer TARGET [arguments of libFuzzer]`.

Half of the mutations are libFuzzer's own, half those of the target. Only modules that a target names are instrumented.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from random import Random
from typing import Any

import atheris
from atheris.import_hook import AtherisMetaPathFinder

from tests.fuzz.targets import TARGETS


class _Chosen(AtherisMetaPathFinder):  # type: ignore[misc]
    """Instruments modules below some names; atheris' own hook takes whole packages at the top only."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(set(), set(), True, True)
        self._names = tuple(names)

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if any(fullname == name or fullname.startswith(name + ".") for name in self._names):
            return super().find_spec(fullname, path, target)
        return None


def main(name: str, arguments: list[str]) -> None:
    target = TARGETS[name]
    sys.meta_path.insert(0, _Chosen(target.instrumented))
    module = importlib.import_module(f"tests.fuzz.targets.{name}")

    def mutated(data: bytes, max_size: int, seed: int) -> bytes:
        if seed & 1:
            return bytes(atheris.Mutate(data, max_size))
        return bytes(module.mutate(data, Random(seed))[:max_size])

    again = f"{sys.executable} -m tests.fuzz.libfuzzer {name}"  # a merge runs the first word anew, through a shell
    atheris.Setup([again, f"-max_len={target.max_bytes}", *arguments], module.check, custom_mutator=mutated)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
