"""The optional compiled wheel. The package itself is described in pyproject.toml.

With COORDINATOR_COMPILE=1 the modules below are translated to C by mypyc and compiled; without it this file does
nothing, so that a plain installation needs neither a compiler nor mypy. The Python sources stay in the wheel beside the
compiled modules, which Python prefers. `make wheels` builds both.

Compiled are the modules on the frequent paths of requests, log records and groups. Not compiled are codecs of rare
requests (as much C as all the rest, and minutes of compiling), code that runs once, declarations
(`protocol.messages`), and classes that mypyc does not support (`coordinator.server.dispatch`, a dict with
`__missing__`).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from setuptools import Extension, setup

PROTOCOL = """
    primitives frames headers record_batch offsets_records consumer
    generated.consumer_protocol generated.heartbeat generated.join_group generated.leave_group generated.offset_commit
    generated.offset_fetch generated.offsets_log generated.sync_group
"""
COORDINATOR = """
    core.* core.purgatory.* core.group.* core.consumer_group.* core.consumer_group.assignors.* core.offsets.*
    server.answers server.connection server.connections server.frame_templates
    server.api.handler server.api.join_group server.api.leave_group server.api.offset_commit
    server.api.offset_fetch server.api.sync_group
    whatif.assignors whatif.client whatif.player
"""
EXCEPT = """
    core/cluster core/registry core/group/states_doc core/purgatory/mypyc
"""
# Types of dependencies are not needed, so the result does not depend on whether they are installed.
MYPY = ["--ignore-missing-imports", "--no-warn-unused-ignores"]


def sources(package: str, modules: str) -> list[str]:
    found = {
        str(path)
        for module in modules.split()
        for path in Path(package).glob(f"{module.replace('.', '/')}.py")
        if path.name != "__init__.py"
    }
    return sorted(found - {f"{package}/{module}.py" for module in EXCEPT.split()})


def compiled() -> list[Extension]:
    from mypyc.build import mypycify

    groups = [(sources("protocol", PROTOCOL), "protocol"), (sources("coordinator", COORDINATOR), "coordinator")]
    return mypycify(
        [*MYPY, *(path for paths, _ in groups for path in paths)],
        separate=groups,  # one library for each group, so that two cores compile in parallel
        opt_level=os.environ.get("COORDINATOR_COMPILE_LEVEL", "2"),
        debug_level="0",
    )


asked = os.environ.get("COORDINATOR_COMPILE") == "1"
if asked and sys.implementation.name != "cpython":
    sys.exit("COORDINATOR_COMPILE=1 needs CPython: mypyc writes modules for nothing else. Install the plain wheel.")
only_metadata = bool({"egg_info", "dist_info"} & set(sys.argv))  # pip asks for these first; egg_info runs without mypy
setup(
    setup_requires=["mypy>=2.4,<2.5"] if asked else [],
    ext_modules=compiled() if asked and not only_metadata else [],
    options={"build_ext": {"parallel": True}},
)
