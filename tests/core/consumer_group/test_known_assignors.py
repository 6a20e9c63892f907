"""The assignors that a configuration may name, and the checks of what an assignor of a user returns."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from coordinator.core.consumer_group.assignors.interface import ConsumerGroupPartitionAssignor, GroupSpec
from coordinator.core.consumer_group.assignors.known import ENTRY_POINTS, assignors_of
from coordinator.core.consumer_group.assignors.plugin import AssignorError, PluginAssignor
from coordinator.core.consumer_group.assignors.range import RangeAssignor
from coordinator.core.consumer_group.assignors.uniform import UniformAssignor
from tests.core.consumer_group.assigning import Sub, assigned, shares, spec_of, topic_id
from tests.support.offloaded import at_once

JAVA = "org.apache.kafka.coordinator.group.assignor"
CODE = """
class Everything:
    name = "everything"

    def assign(self, spec):
        first = min(spec.members)
        return {first: {topic_id: range(spec.topics[topic_id]) for topic_id in spec.members[first].topic_ids}}


class Misnamed(Everything):
    name = "other"


class Nameless:
    def assign(self, spec):
        return {}


class Blank(Nameless):
    name = " "


class Idle:
    name = "idle"


class Broken(Everything):
    def __init__(self):
        raise OSError("no such rack")


made = Everything()
"""
SPEC = spec_of({"T1": 3, "T2": 2}, {"A": Sub(("T1",)), "B": Sub(("T1", "T2"))})

Offer = Callable[..., None]


def named(names: list[str]) -> dict[str, ConsumerGroupPartitionAssignor]:
    return assignors_of(names, lambda: at_once, 1000)


def plugin(plain: Plain) -> PluginAssignor:
    return PluginAssignor(plain, at_once, 1000)


@pytest.fixture
def offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Offer:
    """Return a function that installs a package with an entry point: offer("everything", "Everything")."""
    (tmp_path / "assignors_of_a_user.py").write_text(CODE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "assignors_of_a_user", raising=False)

    def install(name: str, attribute: str, package: str = "of-a-user") -> None:
        info = tmp_path / f"{package.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
        line = f"{name} = assignors_of_a_user:{attribute}"
        (info / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\n{line}\n", encoding="utf-8")

    return install


def test_the_built_in_assignors_come_in_the_order_of_their_names() -> None:
    found = named(["range", "uniform"])
    assert list(found) == ["range", "uniform"]
    assert isinstance(found["range"], RangeAssignor)
    assert isinstance(found["uniform"], UniformAssignor)


def test_the_class_names_of_kafka_stand_for_the_built_in_ones() -> None:
    found = named([f"{JAVA}.UniformAssignor", f"{JAVA}.RangeAssignor"])
    assert list(found) == ["uniform", "range"]


def test_an_assignor_that_is_named_twice_keeps_its_first_place() -> None:
    assert list(named(["range", "uniform", f"{JAVA}.RangeAssignor"])) == ["range", "uniform"]


def test_no_package_is_looked_at_for_built_in_names() -> None:
    code = (
        "import sys; from coordinator.core.consumer_group.assignors.known import assignors_of; "
        "assignors_of(['uniform', 'range'], None, 1); print('importlib.metadata' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


@pytest.mark.parametrize("attribute", ["Everything", "made"])
def test_an_assignor_of_an_installed_package_is_found(offer: Offer, attribute: str) -> None:
    offer("everything", attribute)
    found = named(["everything", "uniform"])
    assert list(found) == ["everything", "uniform"]
    result, yields = assigned(found["everything"], SPEC)
    assert shares(result) == {"A": {"T1": (0, 1, 2)}, "B": {}}
    assert yields == 0


@pytest.mark.parametrize(
    ("name", "attribute", "sentence"),
    [
        ("everything", "Misnamed", "has an assignor named 'other', so give both the same name"),
        ("nameless", "Nameless", "Nameless has no `name` that is a text and not blank, so give the class one"),
        ("blank", "Blank", "Blank has no `name` that is a text and not blank, so give the class one"),
        ("idle", "Idle", r"Idle has no method `assign\(self, spec\)`, so give the class one"),
        ("broken", "Broken", r"cannot be loaded from \S+ \(OSError: no such rack\), so correct the package"),
        ("absent", "Absent", r"cannot be loaded from \S+ \(AttributeError: .*\), so correct the package"),
    ],
)
def test_an_unusable_assignor_is_refused_with_what_to_do(
    offer: Offer, name: str, attribute: str, sentence: str
) -> None:
    offer(name, attribute)
    with pytest.raises(AssignorError, match=sentence):
        named([name])


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(AssignorError, match=r"names 'sticky', which is neither built in \(uniform, range\)"):
        named(["uniform", "sticky"])


def test_names_are_case_sensitive() -> None:
    with pytest.raises(AssignorError, match="'Uniform'"):
        named(["Uniform"])


def test_no_name_at_all_is_refused() -> None:
    with pytest.raises(AssignorError, match=r"group\.consumer\.assignors is empty"):
        named([])


def test_a_name_that_two_packages_offer_is_refused(offer: Offer) -> None:
    offer("everything", "Everything", "one")
    offer("everything", "Misnamed", "two")
    with pytest.raises(AssignorError, match=r"is offered by .*:Everything and .*:Misnamed, so uninstall"):
        named(["everything"])


# -- results -------------------------------------------------------------------------------------------------------


class Plain:
    """An assignor that returns what it was given."""

    name = "plain"

    def __init__(self, result: Any) -> None:
        self.result = result

    def assign(self, spec: GroupSpec) -> Mapping[str, Mapping[bytes, Iterable[int]]]:
        if isinstance(self.result, Exception):
            raise self.result
        result: Mapping[str, Mapping[bytes, Iterable[int]]] = self.result
        return result


T1, T2 = topic_id("T1"), topic_id("T2")


def test_a_result_is_brought_into_the_form_of_a_target() -> None:
    result = {"B": {T2: iter([1, 0]), T1: {2}}, "A": {T1: []}}
    found, _ = assigned(plugin(Plain(result)), SPEC)
    assert found == {"A": {}, "B": {T1: (2,), T2: (0, 1)}}
    assert list(found["B"]) == [T1, T2]


def test_partitions_may_be_left_out() -> None:
    assert assigned(plugin(Plain({})), SPEC)[0] == {"A": {}, "B": {}}


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (None, "returned builtins.NoneType and no mapping of member ids"),
        ({"C": {}}, "assigned partitions to 'C', which is no member of the group"),
        ({7: {}}, "assigned partitions to 7, which is no member of the group"),
        ({"A": [0]}, "returned builtins.list for 'A' and no mapping of topic ids"),
        ({"A": {T2: [0]}}, f"gave 'A' the topic {T2.hex()}, to which it does not subscribe"),
        ({"A": {"T1": [0]}}, "gave 'A' the topic 'T1', to which it does not subscribe"),
        ({"A": {T1: 0}}, f"gave 'A' no list of numbers for the topic {T1.hex()}"),
        ({"A": {T1: ["0"]}}, f"gave 'A' no list of numbers for the topic {T1.hex()}"),
        ({"A": {T1: [3]}}, f"assigned partition 3 of the topic {T1.hex()}, which has 3 partitions"),
        ({"A": {T1: [-1]}}, f"assigned partition -1 of the topic {T1.hex()}, which has 3 partitions"),
        ({"A": {T1: [0, 0]}}, f"assigned partition 0 of the topic {T1.hex()} twice"),
        ({"A": {T1: [0]}, "B": {T1: [0]}}, f"assigned partition 0 of the topic {T1.hex()} twice"),
        (KeyError("rack"), "failed with KeyError: 'rack'"),
    ],
)
def test_a_result_that_breaks_a_rule_is_refused_in_one_sentence(result: object, sentence: str) -> None:
    with pytest.raises(AssignorError) as caught:
        assigned(plugin(Plain(result)), SPEC)
    assert str(caught.value) == f"The assignor 'plain' {sentence}, so correct its method `assign`."
