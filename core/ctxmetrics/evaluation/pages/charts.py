"""Lines over an axis from 0 to 1, as data, and where they stand in the picture that a page draws (`chart.html`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ctxmetrics.evaluation.pages.tables import Cell, Table

# The edges of the lines, in units of the picture: it is 640 wide, and heights begin at its top.
_LEFT_EDGE = 40.0
_RIGHT_EDGE = 620.0
# The right edge where names stand beside the lines.
_RIGHT_EDGE_BEFORE_NAMES = 490.0
_TOP_EDGE = 12.0
_BOTTOM_EDGE = 160.0
# The height of a line of text.
_TEXT_HEIGHT = 16.0
# Room for the numbers below the lines.
_NUMBERS_HEIGHT = 28.0
# How far the middle of a text is above its foot.
_HALF_LETTER_HEIGHT = 4.0
# A line with at most this number of points has a number below each.
_MAX_NUMBERED_POINTS = 12
# Of more points, every fifth one has a number.
_NUMBER_STEP = 5
# A place in a picture: from left to right, and from top to bottom.
Place: TypeAlias = "tuple[float, float]"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a chart.

    Attributes:
        points: The points of the line. Both coordinates are shares from 0 to 1, from left to right and from bottom to top.
        name: The text beside the end of the line; empty for no text.
        marked: Whether each point has a mark.
    """

    points: tuple[tuple[float, float], ...]
    name: str = ""
    marked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Lines over an axis from 0 to 1.

    Attributes:
        title: The title of the chart.
        lines: The lines.
        summary: The description after the title, for readers who do not see the picture.
        numbers: The numbers below the lines: a share from left to right, and the text.
        intervals: Upright lines: a share from left to right, the lower and the upper end.
    """

    title: str
    lines: tuple[Line, ...]
    summary: str = ""
    numbers: tuple[tuple[float, str], ...] = ()
    intervals: tuple[tuple[float, float, float], ...] = ()

    @property
    def right(self) -> float:
        """The right edge of the lines."""
        return _RIGHT_EDGE_BEFORE_NAMES if any(line.name for line in self.lines) else _RIGHT_EDGE

    @property
    def bottom(self) -> float:
        """The height of the row of numbers."""
        return _BOTTOM_EDGE + 0.75 * _NUMBERS_HEIGHT

    @property
    def height(self) -> float:
        """The height of the picture."""
        space_below = _NUMBERS_HEIGHT if self.numbers else _HALF_LETTER_HEIGHT
        lowest_name = max(self.place_names().values(), default=0.0)
        return max(_BOTTOM_EDGE + space_below, lowest_name + _TEXT_HEIGHT)

    def find_x(self, share: float) -> float:
        """Find the place of a share from left to right."""
        return _LEFT_EDGE + share * (self.right - _LEFT_EDGE)

    def find_y(self, share: float) -> float:
        """Find the height of a share."""
        return _TOP_EDGE + (1 - share) * (_BOTTOM_EDGE - _TOP_EDGE)

    def place_points(self, line: Line) -> list[Place]:
        """Place the points of a line."""
        return [(self.find_x(x), self.find_y(y)) for x, y in line.points]

    def place_names(self) -> dict[str, float]:
        """Return the height of each name: beside the end of its line, and apart where ends are close."""
        height_by_name = {
            line.name: self.find_y(line.points[-1][1]) for line in self.lines if line.name
        }
        heights: dict[str, float] = {}
        lowest_free = 0.0
        for name in sorted(height_by_name, key=height_by_name.__getitem__):
            heights[name] = max(height_by_name[name] + _HALF_LETTER_HEIGHT, lowest_free)
            lowest_free = heights[name] + _TEXT_HEIGHT
        return heights


def draw_over_k(title: str, lines: Mapping[str, Sequence[float]]) -> Chart:
    """Draw values over k, the number of contexts from the top.

    Args:
        title: The title of the chart.
        lines: By the name of a line, its values from k = 1 on.
    """
    max_points = max(len(values) for values in lines.values())
    step = 1 / max(1, max_points - 1)
    numbered_points: Sequence[int] = range(1, max_points + 1)
    if max_points > _MAX_NUMBERED_POINTS:
        numbered_points = [1, *range(_NUMBER_STEP, max_points + 1, _NUMBER_STEP)]
    numbers = tuple(((k - 1) * step, str(k)) for k in numbered_points)
    chart_lines: list[Line] = []
    for name, values in lines.items():
        points = tuple((index * step, value) for index, value in enumerate(values))
        chart_lines.append(Line(points, name))
    last_values = ", ".join(f"{name} {values[-1]:.2f}" for name, values in lines.items())
    return Chart(
        title=title,
        lines=tuple(chart_lines),
        summary=f"k = {max_points}: {last_values}",
        numbers=numbers,
    )


def list_over_k(lines: Mapping[str, Sequence[float]]) -> Table:
    """List the numbers of `draw_over_k` in a table."""
    rows: list[tuple[Cell, ...]] = []
    for index, values in enumerate(zip(*lines.values(), strict=True)):
        numbers = (Cell(f"{value:.4f}") for value in values)
        rows.append((Cell(str(index + 1)), *numbers))
    return Table(("k", *lines), tuple(rows))
