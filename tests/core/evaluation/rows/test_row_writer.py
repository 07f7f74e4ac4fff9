"""Files that are written whole, by one thread or several."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ctxmetrics.evaluation.rows.output_files import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def test_two_threads_write_one_file_without_mixing(tmp_path: Path) -> None:
    place = tmp_path / "page.html"

    def write_in_between() -> Iterator[str]:
        yield "<p>first"
        other = threading.Thread(target=write_whole, args=(place, ["<p>second"]))
        other.start()
        other.join()
        assert place.read_text(encoding="utf-8") == "<p>second"
        yield ", whole"

    write_whole(place, write_in_between())
    assert place.read_text(encoding="utf-8") == "<p>first, whole"
    assert [*tmp_path.iterdir()] == [place]
