"""A comparison of retrievers as text for a terminal, as Markdown and as a page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ctxmetrics.evaluation.pages import render
from ctxmetrics.evaluation.pages.tables import Table, escape_markdown
from ctxmetrics.evaluation.retrievers import retriever_tables
from ctxmetrics.evaluation.retrievers.comparison import RetrieverFigures
from ctxmetrics.evaluation.rows.output_files import write_whole

TITLE = "ctxmetrics: comparison of retrievers"
# The questions that are shown with all units and contexts.
_MOST_ON_PAGE = 100


class RetrieverComparison(RetrieverFigures):
    """What a comparison of retrievers found; as a string, its tables and the questions by what each setting lost."""

    __slots__ = ()

    def __str__(self) -> str:
        return self._render("retrievers.txt").rstrip("\n")

    __repr__ = __str__

    def markdown(self) -> str:
        """Return the comparison as Markdown; texts of samples are escaped."""
        return self._render("retrievers.md", markdown=True)

    def html(self, *, title: str = TITLE, gates: Sequence[tuple[str, str | None]] = ()) -> str:
        """Return the comparison as one page that loads nothing.

        Args:
            title: Heading of the page.
            gates: Each gate as it was written, and why it failed or None.
        """
        return self._render("retrievers.html", title=title, gates=gates, frame="frame.html")

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        title: str = TITLE,
        gates: Sequence[tuple[str, str | None]] = (),
    ) -> None:
        """Write the page. Raises as `Results.to_html`.

        Args:
            path: The file.
            title: Heading of the page.
            gates: Each gate as it was written, and why it failed or None.
        """
        write_whole(path, [self.html(title=title, gates=gates)])

    def _repr_html_(self) -> str:
        return self._render("retrievers.html", gates=(), frame="fragment.html")

    def _render(self, template: str, *, markdown: bool = False, **more: Any) -> str:
        """Render the comparison with a template."""
        questions = [question for question in self.list_questions() if question.lost]
        return render(
            template,
            language="en",
            comparison=self,
            heading=retriever_tables.heading,
            build_means=retriever_tables.build_means,
            build_calls=retriever_tables.build_calls,
            build_nothing=retriever_tables.build_nothing,
            build_units=retriever_tables.build_units,
            list_sentences=retriever_tables.list_sentences,
            describe_loss=retriever_tables.describe_loss,
            draw_curves=retriever_tables.draw_curves,
            draw_nothing=retriever_tables.draw_nothing,
            format_value=retriever_tables.format_value,
            shown=retriever_tables.shown,
            written=Table.markdown if markdown else str,
            most=retriever_tables.MOST,
            escaped=escape_markdown,
            questions=questions,
            most_on_page=_MOST_ON_PAGE,
            **more,
        )
