"""`CoordinatorTestCase`: a server around each test, and a note on the error of one that fails."""

from __future__ import annotations

import unittest

from coordinator.testing.case import CoordinatorTestCase


class Orders(CoordinatorTestCase):
    topics = {"orders": 2}  # noqa: RUF012
    settings = {"group_max_size": 3}  # noqa: RUF012

    def setUp(self) -> None:
        assert self.coordinator.produce("orders", ["a"], partition=1) == 0

    def passes(self) -> None:
        assert self.coordinator.produce("orders", ["b"], partition=1) == 1

    def passes_too(self) -> None:
        assert self.coordinator.groups() == []

    def fails(self) -> None:
        raise AssertionError("on purpose")

    def has_a_fault_that_no_request_meets(self) -> None:
        self.coordinator.fail_next("JoinGroup", "NOT_COORDINATOR")

    def stops_its_server(self) -> None:
        self.coordinator.stop()

    def fails_while_it_is_down(self) -> None:
        self.coordinator.stop()
        raise AssertionError("the real failure")


class WrongSetting(CoordinatorTestCase):
    settings = {"group_max_size": "x"}  # noqa: RUF012

    def passes(self) -> None:
        pass


def outcome(*names: str) -> unittest.TestResult:
    result = unittest.TestResult()
    unittest.TestSuite(map(Orders, names)).run(result)
    return result


def test_each_test_has_a_server_of_its_own() -> None:
    result = outcome("passes", "passes_too")
    assert (result.testsRun, result.errors, result.failures) == (2, [], [])


def test_a_failure_has_the_last_requests_as_a_note() -> None:
    ((_, text),) = outcome("fails").failures
    assert "AssertionError: on purpose" in text
    assert "coordinator: last requests\nnone" in text


def test_a_fault_that_no_request_meets_is_an_error() -> None:
    ((_, text),) = outcome("has_a_fault_that_no_request_meets").errors
    assert "FaultNotFiredError: no request came for: the next JOIN_GROUP: answered NOT_COORDINATOR" in text


def test_a_server_that_a_test_stops_hides_nothing() -> None:
    assert outcome("stops_its_server").wasSuccessful()
    ((_, text),) = outcome("fails_while_it_is_down").failures
    assert "AssertionError: the real failure" in text


def test_a_wrong_setting_is_an_error_of_the_test() -> None:
    result = unittest.TestResult()
    WrongSetting("passes").run(result)
    ((_, text),) = result.errors
    assert "ConfigError" in text
