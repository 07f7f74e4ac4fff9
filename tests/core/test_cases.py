"""A test of a table fails with every case that fails, and gives each case what a test of its own would have."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cases import each_case


def test_all_failing_cases_are_listed():
    tried = []

    def check(number: int, letter: str) -> None:
        tried.append((number, letter))
        if number == 2:
            pytest.fail("two")
        assert (number, letter) != (3, "b")

    test = each_case("letter", "ab")(each_case("number", [1, 2, 3])(check))
    with pytest.raises(BaseExceptionGroup, match="2 of 2 cases failed") as failure:
        test()
    assert tried == [(1, "a"), (2, "a"), (3, "a"), (1, "b"), (2, "b"), (3, "b")]
    first, second = failure.value.exceptions
    assert (first.__notes__, second.__notes__) == (
        ["The case: {'letter': 'a'}"],
        ["The case: {'letter': 'b'}"],
    )
    assert [error.__notes__ for error in second.exceptions] == [
        ["The case: {'number': 2}"],
        ["The case: {'number': 3}"],
    ]


def test_an_empty_table_fails():
    with pytest.raises(AssertionError, match="no case"):
        each_case("number", [])(lambda number: None)()


def test_each_case_has_a_folder_of_its_own(tmp_path):
    folders = []

    def check(number: int, tmp_path: Path) -> None:
        assert not list(tmp_path.iterdir())
        (tmp_path / "file").touch()
        folders.append(tmp_path)

    each_case("number", [1, 2])(check)(tmp_path=tmp_path)
    assert len({*folders, tmp_path}) == 3


@each_case(("one", "two"), [(1, 2), (3, 4)])
def test_the_names_of_a_case_are_no_fixtures(one, two):
    assert two == one + 1


@each_case("number", [1, 2, 3])
def try_numbers(number: int) -> None:
    if number == 1:
        pytest.skip("the first one")
    assert number != 3


@each_case("number", [1, 2])
def try_small_numbers(number: int) -> None:
    if number == 1:
        pytest.skip("the first one")


def test_case_that_skips_hides_no_failure() -> None:
    with pytest.raises(BaseExceptionGroup) as failure:
        try_numbers()
    assert [str(error.__notes__[0]) for error in failure.value.exceptions] == [
        "The case: {'number': 3}"
    ]
    with pytest.raises(pytest.skip.Exception, match="the first one"):
        try_small_numbers()
