"""Two options never name one file, also under the name that a file has while its run goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ctxmetrics.errors import InputFileError
from ctxmetrics.evaluation.rows.output_paths import check_outputs

if TYPE_CHECKING:
    from pathlib import Path


def test_same_file_names_the_path_that_was_read(tmp_path: Path) -> None:
    read = tmp_path / "folder" / ".." / "rows.jsonl"
    with pytest.raises(InputFileError) as caught:
        check_outputs({"--out": tmp_path / "rows.jsonl"}, {"--out": read})
    assert str(caught.value) == (
        f"--out {tmp_path / 'rows.jsonl'} and --out {read} are the same file, which would be lost. "
        "Choose another file for --out."
    )


@pytest.mark.parametrize("options", [("--out", "--report"), ("--report", "--out")])
def test_name_during_the_run_is_not_another_file(options: tuple[str, str], tmp_path: Path) -> None:
    paths = {"--out": tmp_path / "rows.jsonl", "--report": tmp_path / "rows.jsonl.part"}
    with pytest.raises(InputFileError) as caught:
        check_outputs({option: paths[option] for option in options}, {})
    assert str(caught.value) == (
        f"--out {paths['--out']} is named rows.jsonl.part while the run goes on, and --report "
        f"{paths['--report']} is this file, which would be lost. Choose another file for --out."
    )
