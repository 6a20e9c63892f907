"""The table of error codes is complete, and has the retriable flags of Kafka."""

from __future__ import annotations

import pickle

from protocol.error_codes import ErrorCode

RETRIABLE = {
    *(2, 3, 5, 6, 7, 9, 13, 14, 15, 16, 19, 20, 41, 51, 56, 70, 71, 72, 74, 75, 78, 80, 83, 84, 88, 89, 100, 103, 106),
    *(122, 123),
}


def test_every_assigned_number_has_a_name_and_a_sentence() -> None:
    assert [int(each) for each in ErrorCode] == list(range(-1, 130))
    for each in ErrorCode:
        assert each.message.endswith(".") and each.name == each.name.upper()
    assert len({each.message for each in ErrorCode}) == len(ErrorCode)


def test_the_retriable_errors_are_those_of_kafka() -> None:
    assert {int(each) for each in ErrorCode if each.retriable} == RETRIABLE


def test_an_error_code_is_its_number_and_one_object() -> None:
    assert ErrorCode(25) is ErrorCode.UNKNOWN_MEMBER_ID
    number: int = ErrorCode.ILLEGAL_GENERATION
    assert number == 22 and ErrorCode.ILLEGAL_GENERATION in {22}
    assert pickle.loads(pickle.dumps(ErrorCode.NONE)) is ErrorCode.NONE
