"""A table and a chart as data, and as a reader sees them."""

from ctxmetrics.evaluation.pages import get_macro
from ctxmetrics.evaluation.pages.charts import draw_over_k, list_over_k
from ctxmetrics.evaluation.pages.tables import Bar, Column, Table

RUNS = [("a_b", 0.25, (0.1, 0.5)), ("<i>|", None, None)]
COLUMNS = (
    Column("mean", lambda run: run[1], ".2f", bar=lambda run: Bar(run[1], run[2])),
    Column("calls", lambda run: len(run[0])),
)


def test_a_table_is_text_markdown_and_html():
    table = Table.build(COLUMNS, RUNS).with_names("run", [name for name, *_ in RUNS])
    assert str(table) == "run   mean  calls\na_b   0.25  3\n<i>|  -     4"
    assert table.markdown() == (
        "| run | mean | calls |\n| --- | --- | --- |\n| a_b | 0.25 | 3 |\n| &lt;i&gt;&#124; | - | 4 |"
    )
    page = str(get_macro("table.html", "table_of")(table))
    assert "<i>" not in page
    assert '<th scope="row"><bdi>&lt;i&gt;|</bdi></th><td data-name="mean"><bdi>-</bdi> ' in page
    assert page.count("<svg") == 1  # no bar without a value
    assert (
        '<rect class="fill" width="25.0" height="12"/><line class="range" x1="10.0" x2="50.0"' in page
    )


def test_names_of_a_chart_are_apart():
    lines = {"near": [0.2, 0.5], "nearer": [0.1, 0.5], "<far>": [0.0, 1.0]}
    chart = draw_over_k("recall over k", lines)
    # From 1 at 12 to 0 at 160: the middle of a name is 4 above its foot, and a line of text needs 16.
    assert chart.place_names() == {"<far>": 16, "near": 90, "nearer": 106}
    page = str(get_macro("chart.html", "numbered_chart")(chart, list_over_k(lines), "en"))
    assert 'aria-label="recall over k; k = 2: near 0.50, nearer 0.50, &lt;far&gt; 1.00"' in page
    assert '<polyline points="40.0,130.4 490.0,86.0"/>' in page
    assert '<th scope="row"><bdi>1</bdi></th><td data-name="near"><bdi>0.2000</bdi></td>' in page


def test_columns_stand_below_each_other_in_any_script():
    """A Chinese character takes two places of a terminal; a Thai vowel above its letter takes none."""
    table = Table.build(COLUMNS[1:], RUNS).with_names("run", ["日本", "ที่"])
    assert table.list_lines() == ["run   calls", "日本  3", "ที่     4"]
