"""Results as a page to read."""

from __future__ import annotations

from ctxmetrics.report.html import render_html

__all__ = ["render_html"]
