"""A comparison of retrievers as text for a terminal, as Markdown and as a page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ctxmetrics.evaluation.pages import render
from ctxmetrics.evaluation.pages.text_forms import TextForm
from ctxmetrics.evaluation.retrievers import retriever_tables
from ctxmetrics.evaluation.retrievers.comparison import RetrieverFigures
from ctxmetrics.evaluation.rows.output_files import write_whole

TITLE = "ctxmetrics: comparison of retrievers"
# The questions that are shown with all units and contexts.
_MAX_QUESTIONS_ON_PAGE = 100


class RetrieverComparison(RetrieverFigures):
    """The results of a comparison of retrievers.

    As a string, it is its tables, and the questions with the units that each setting lost.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return self._render_text(markdown=False).rstrip("\n")

    __repr__ = __str__

    def markdown(self) -> str:
        """Return the comparison as Markdown. Texts of samples are escaped."""
        return self._render_text(markdown=True)

    def html(self, *, title: str = TITLE, gates: Sequence[tuple[str, str | None]] = ()) -> str:
        """Return the comparison as one page that loads nothing.

        Args:
            title: Heading of the page.
            gates: Each gate as it was written, and why it failed or None.
        """
        return self._render_page(title=title, gates=gates, frame="frame.html")

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
        return self._render_page(gates=(), frame="fragment.html")

    def _render_text(self, *, markdown: bool) -> str:
        """Render the comparison as text or as Markdown."""
        return self._render(
            "retrievers.txt",
            form=TextForm(markdown),
            most=retriever_tables.MAX_QUESTIONS_SHOWN,
            format_text=retriever_tables.format_text,
            describe_loss=retriever_tables.describe_loss,
        )

    def _render_page(self, **more: Any) -> str:
        """Render the comparison as a page, or as a part of a notebook."""
        return self._render(
            "retrievers.html",
            language="en",
            most_on_page=_MAX_QUESTIONS_ON_PAGE,
            build_units=retriever_tables.build_units,
            draw_curves=retriever_tables.draw_curves,
            draw_nothing=retriever_tables.draw_nothing,
            format_value=retriever_tables.format_value,
            **more,
        )

    def _render(self, template: str, **more: Any) -> str:
        """Fill in a template with the comparison."""
        return render(
            template,
            comparison=self,
            questions=[question for question in self.list_questions() if question.lost],
            heading=retriever_tables.heading,
            build_means=retriever_tables.build_means,
            build_calls=retriever_tables.build_calls,
            build_nothing=retriever_tables.build_nothing,
            list_sentences=retriever_tables.list_sentences,
            **more,
        )
