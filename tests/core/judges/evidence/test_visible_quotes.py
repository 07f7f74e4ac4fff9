r"""Quotes of text that holds markup, as they are read, and quotes with an ellipsis: 120 pairs, each with its span by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxmetrics import ContextRecall, LLMJudge, OpenAIModel, Sample, ScriptedJudge
from ctxmetrics.judges.evidence.quote_matches import hides_statement, match_quote
from ctxmetrics.judges.evidence.quotes import QuotedUnit
from ctxmetrics.text.quote_search import Effort, EffortExceededError, find_quote, stands_in
from ctxmetrics.verdicts import Evidence
from support import FakeOpenAIServer, read_question
from support.cases import each_case
from support.command import run_command

ROWS = "<table><tr><th>Ticket</th><th>Fee</th></tr><tr><td>Adult</td><td>20 euros</td></tr></table>"
CELLS = "| Ticket | Fee |\n|:---|---:|\n| Adult | 20 euros |\n| Child | 5 euros |"
PAGES = "The ferry to the island leaves the old harbour at\n\n- 12 -\n\nnine every morning."

# A context, a quote as it is read, and the text of the context that is shown for it.
READ = [
    # tags
    ("The <b>ferry</b> leaves at <i>nine</i>.", "The ferry leaves at nine.", "The <b>ferry</b> leaves at <i>nine</i>."),
    ("<p>The ferry leaves at nine.</p>", "ferry leaves at nine", "ferry leaves at nine"),
    ("<p>The ferry<br>leaves at nine.</p>", "The ferry leaves at nine", "The ferry<br>leaves at nine"),
    ("<p>The ferry<br />leaves at nine.</p>", "ferry leaves", "ferry<br />leaves"),
    ("An un<b>believ</b>able fee", "An unbelievable fee", "An un<b>believ</b>able fee"),
    ('The <span class="x">fee is</span> 20 euros.', "fee is 20 euros", '<span class="x">fee is</span> 20 euros'),
    ('The <a href="/deck?a=1">upper deck</a> is closed.', "The upper deck is closed.", 'The <a href="/deck?a=1">upper deck</a> is closed.'),
    ("The <em>ferry</em> <em>leaves</em> at nine", "ferry leaves at nine", "<em>ferry</em> <em>leaves</em> at nine"),
    ("The <mark>ferry</mark> leaves at nine", "The ferry leaves", "The <mark>ferry</mark> leaves"),
    ('The <em class="hlt1">ferry</em> leaves', "The ferry leaves", 'The <em class="hlt1">ferry</em> leaves'),
    ("The <strong>FERRY</strong> leaves", "the ferry leaves", "The <strong>FERRY</strong> leaves"),
    ("The ferry<!-- slow --> leaves at nine", "ferry leaves at nine", "ferry<!-- slow --> leaves at nine"),
    ("The ferry<script>track();</script> leaves", "The ferry leaves", "The ferry<script>track();</script> leaves"),
    ("The ferry<sup>1</sup> leaves at nine", "The ferry leaves at nine", "The ferry<sup>1</sup> leaves at nine"),
    ('leaves at nine.<sup><a href="#n">[2]</a></sup> It is red.', "leaves at nine. It is red.", 'leaves at nine.<sup><a href="#n">[2]</a></sup> It is red.'),
    ("It holds CO<sub>2</sub> and tea", "It holds CO2 and tea", "It holds CO<sub>2</sub> and tea"),
    ("about 10<sup>6</sup> birds", "about 10^6 birds", "about 10<sup>6</sup> birds"),
    ("about 10<sup>6</sup> birds", "about 10⁶ birds", "about 10<sup>6</sup> birds"),
    ("a deck of 40 m<sup>2</sup>", "a deck of 40 m²", "a deck of 40 m<sup>2</sup>"),
    ("a deck of 40 m<sup>2</sup>", "a deck of 40 m2", "a deck of 40 m<sup>2</sup>"),
    ("The fee<ref>Old.</ref> is 20 euros", "The fee is 20 euros", "The fee<ref>Old.</ref> is 20 euros"),
    ("<div>The fee</div><div>is 20 euros</div>", "The fee is 20 euros", "The fee</div><div>is 20 euros"),
    # cells
    (ROWS, "Adult 20 euros", "Adult</td><td>20 euros"),
    (ROWS, "Adult | 20 euros", "Adult</td><td>20 euros"),
    (ROWS, "Ticket Fee", "Ticket</th><th>Fee"),
    (ROWS, "Ticket Fee Adult 20 euros", "Ticket</th><th>Fee</th></tr><tr><td>Adult</td><td>20 euros"),
    (CELLS, "Adult 20 euros", "Adult | 20 euros"),
    (CELLS, "| Adult | 20 euros |", "| Adult | 20 euros |"),
    (CELLS, "Child\t5 euros", "Child | 5 euros"),
    (CELLS, "Ticket Fee Adult 20 euros", "Ticket | Fee |\n|:---|---:|\n| Adult | 20 euros"),
    ("Ticket | Fee\n--- | ---\nAdult | 20 euros", "Adult 20 euros", "Adult | 20 euros"),
    # entities
    ("The fee is 20&nbsp;euros.", "The fee is 20 euros.", "The fee is 20&nbsp;euros."),
    ("Tom &amp; Ann sell tea", "Tom & Ann sell tea", "Tom &amp; Ann sell tea"),
    ("Ann&#39;s tea is &ldquo;sold&rdquo;", 'Ann\'s tea is "sold"', "Ann&#39;s tea is &ldquo;sold"),
    ("Ann&#x27;s tea is sold", "Ann’s tea is sold", "Ann&#x27;s tea is sold"),
    ("from 5&ndash;10 euros a day", "from 5-10 euros a day", "from 5&ndash;10 euros a day"),
    ("caf&eacute; on deck", "café on deck", "caf&eacute; on deck"),
    ("The fee is 20&amp;nbsp;euros", "The fee is 20 euros", "The fee is 20&amp;nbsp;euros"),
    ("more than &gt; 5 euros", "more than > 5 euros", "more than &gt; 5 euros"),
    # Markdown
    ("The **ferry** leaves at *nine*.", "The ferry leaves at nine.", "The **ferry** leaves at *nine*."),
    ("The __ferry__ leaves at _nine_.", "ferry leaves at nine", "__ferry__ leaves at _nine_"),
    ("The ***ferry*** leaves", "The ferry leaves", "The ***ferry*** leaves"),
    ("The ~~old~~ ferry leaves", "The ferry leaves", "The ~~old~~ ferry leaves"),
    ("An un**believ**able fee", "An unbelievable fee", "An un**believ**able fee"),
    ("The [upper deck](https://a.org/deck) is closed.", "The upper deck is closed.", "The [upper deck](https://a.org/deck) is closed."),
    ("The [deck](address) is closed.", "The deck is closed.", "The [deck](address) is closed."),
    ("Walk on the [deck](address)", "Walk on the deck", "Walk on the [deck](address)"),
    ('The [deck](/d "Upper deck") is closed.', "The deck is closed.", 'The [deck](/d "Upper deck") is closed.'),
    ("The [upper deck][1] is closed.\n\n[1]: /d", "The upper deck is closed.", "The [upper deck][1] is closed."),
    ("The ![red](r.png) ferry leaves", "The red ferry leaves", "The ![red](r.png) ferry leaves"),
    ("Use `ferry --fast` to leave", "Use ferry --fast to leave", "Use `ferry --fast` to leave"),
    ("> The ferry\n> leaves at nine.", "The ferry leaves at nine.", "The ferry\n> leaves at nine."),
    ("## Fees of *today* ##\nThe fee is 20.", "Fees of today", "Fees of *today*"),
    ("## Fees ##\nThe fee is 20.", "Fees The fee is 20.", "Fees ##\nThe fee is 20."),
    ("The fee \\*today\\* is 20", "The fee *today* is 20", "The fee \\*today\\* is 20"),
    ("Set snake\\_case names", "Set snake_case names", "Set snake\\_case names"),
    ("see <https://a.org/deck> for fees", "see https://a.org/deck for fees", "see <https://a.org/deck> for fees"),
    # notes
    ("The ferry[1] leaves at nine.[2]", "The ferry leaves at nine.", "The ferry[1] leaves at nine."),
    ("It leaves at nine.[1][2] It is red.", "It leaves at nine. It is red.", "It leaves at nine.[1][2] It is red."),
    ("The ferry [12] leaves at nine", "The ferry leaves at nine", "The ferry [12] leaves at nine"),
    ("The ferry[citation needed] leaves", "The ferry leaves", "The ferry[citation needed] leaves"),
    ("The ferry[^1] leaves at nine", "The ferry leaves at nine", "The ferry[^1] leaves at nine"),
    ("The ferry[[3]](#cite_note-3) leaves", "The ferry leaves", "The ferry[[3]](#cite_note-3) leaves"),
    ("The ferry¹ leaves at nine", "The ferry leaves at nine", "The ferry¹ leaves at nine"),
    ("The ferry[note 2] leaves", "The ferry leaves", "The ferry[note 2] leaves"),
    ("渡轮[1]九点离开。", "渡轮九点离开", "渡轮[1]九点离开"),
    # LaTeX
    ("Water is $H_2O$ here", "Water is H2O here", "Water is $H_2O$ here"),
    ("Water is $H_2O$ here", "Water is H₂O here", "Water is $H_2O$ here"),
    ("Water is $\\mathrm{H_2O}$ here", "Water is H2O here", "Water is $\\mathrm{H_2O}$ here"),
    ("Water is H_2O here", "Water is H2O here", "Water is H_2O here"),
    ("It holds CO₂ and tea", "It holds CO2 and tea", "It holds CO₂ and tea"),
    ("The \\textbf{ferry} leaves at \\emph{nine}", "The ferry leaves at nine", "The \\textbf{ferry} leaves at \\emph{nine}"),
    ("an area of $40\\,\\text{m}^2$ or so", "an area of 40 m² or so", "an area of $40\\,\\text{m}^2$ or so"),
    ("the ratio $\\frac{a}{b}$ is small", "the ratio a/b is small", "the ratio $\\frac{a}{b}$ is small"),
    ("the angle $\\alpha$ is small", "the angle α is small", "the angle $\\alpha$ is small"),
    ("about 90\\% of guests", "about 90% of guests", "about 90\\% of guests"),
    ("where $x^2$ grows fast", "where x^2 grows fast", "where $x^2$ grows fast"),
    ("where $x^2$ grows fast", "where x² grows fast", "where $x^2$ grows fast"),
    ("It is \\SI{40}{\\metre} long", "It is 40 m long", "It is \\SI{40}{\\metre} long"),
    ("It opens \\citep[see][p. 3]{smith} at nine", "It opens at nine", "It opens \\citep[see][p. 3]{smith} at nine"),
    # wiki, boards, search engines
    ("The [[Old ferry|ferry]] leaves", "The ferry leaves", "The [[Old ferry|ferry]] leaves"),
    ("The [[ferry]] leaves at nine", "The ferry leaves at nine", "The [[ferry]] leaves at nine"),
    ("The '''ferry''' leaves ''early''", "The ferry leaves early", "The '''ferry''' leaves ''early''"),
    ("The [b]ferry[/b] leaves", "The ferry leaves", "The [b]ferry[/b] leaves"),
    ("The <<<em>>>ferry<<</em>>> leaves", "The ferry leaves", "The <<<em>>>ferry<<</em>>> leaves"),
    ("The @@HIGHLIGHT@@ferry@@ENDHIGHLIGHT@@ leaves", "The ferry leaves", "The @@HIGHLIGHT@@ferry@@ENDHIGHLIGHT@@ leaves"),
    ("The ferry leaves【3†source】at nine", "The ferry leavesat nine", "The ferry leaves【3†source】at nine"),
    # breaks
    (PAGES, "leaves the old harbour at nine every morning", "leaves the old harbour at\n\n- 12 -\n\nnine every morning"),
    (PAGES.replace("- 12 -", "12"), "the old harbour at nine", "the old harbour at\n\n12\n\nnine"),
    (PAGES.replace("- 12 -", "Page 12 of 30"), "the old harbour at nine", "the old harbour at\n\nPage 12 of 30\n\nnine"),
    (PAGES.replace("- 12 -", "Seite 12 von 30"), "the old harbour at nine", "the old harbour at\n\nSeite 12 von 30\n\nnine"),
    (PAGES.replace("\n\n- 12 -\n\n", "\f"), "the old harbour at nine", "the old harbour at\fnine"),
    (PAGES.replace("\n\n- 12 -\n\n", "\n12\n\f"), "the old harbour at nine", "the old harbour at\n12\n\fnine"),
    ("more informa-\ntion on board", "more information on board", "more informa-\ntion on board"),
    ("more informa-\n- 12 -\ntion on board", "more information on board", "more informa-\n- 12 -\ntion on board"),
    ("more in\u00adfor\u00adma\u00adtion here", "more information here", "more in\u00adfor\u00adma\u00adtion here"),
    ("more in\u200bformation here", "more information here", "more in\u200bformation here"),
    # JSON
    ("The ferry leaves.\\nIt is r\\u00e9d.", "The ferry leaves. It is réd.", "The ferry leaves.\\nIt is r\\u00e9d."),
    ('The \\"ferry\\" leaves', 'The "ferry" leaves', 'The \\"ferry\\" leaves'),
    # a quote with marks of its own
    ("The ferry leaves at nine.", "The **ferry** leaves at nine.", "The ferry leaves at nine."),
    ("The ferry leaves at nine.", "<em>The ferry</em> leaves", "The ferry leaves"),
    ("The fee is 20 euros.", "The fee is 20&nbsp;euros", "The fee is 20 euros"),
    ("The **ferry** leaves", "The <b>ferry</b> leaves", "The **ferry** leaves"),
    # struck text and what stands in its place
    ("<p>The fee is <del>20</del><ins>25</ins> euros.</p>", "The fee is 25 euros.", "The fee is <del>20</del><ins>25</ins> euros."),
    ("The fee is ~~20~~ 25 euros.", "The fee is 25 euros.", "The fee is ~~20~~ 25 euros."),
    ("The fee is [s]20[/s] 25 euros.", "The fee is 25 euros.", "The fee is [s]20[/s] 25 euros."),
    ("The fee is \\sout{20} 25 euros.", "The fee is 25 euros.", "The fee is \\sout{20} 25 euros."),
    # systems of notes, chats and parsers
    ('It <ac:emoticon ac:name="tick" /> opens daily', "It opens daily", 'It <ac:emoticon ac:name="tick" /> opens daily'),
    ("Read <https://a.org/p|the plan> at once", "Read the plan at once", "Read <https://a.org/p|the plan> at once"),
    ("It moved to <#C024BE7LR|harbour> today", "It moved to #harbour today", "It moved to <#C024BE7LR|harbour> today"),
    ("The [fee]{.underline} is 20 euros", "The fee is 20 euros", "The [fee]{.underline} is 20 euros"),
    ("Drink H~2~O on 5 m^2^", "Drink H2O on 5 m²", "Drink H~2~O on 5 m^2^"),
    ("The fee^[Since May 2020.] is 20", "The fee is 20", "The fee^[Since May 2020.] is 20"),
    ("See {ref}`the fees <fees>` now", "See the fees now", "See {ref}`the fees <fees>` now"),
    ("The fee [#f1]_ is 20 [2]_ euros", "The fee is 20 euros", "The fee [#f1]_ is 20 [2]_ euros"),
    ("See link:fees.adoc[the fees] now", "See the fees now", "See link:fees.adoc[the fees] now"),
    ("See https://a.org/p[the plan] now", "See the plan now", "See https://a.org/p[the plan] now"),
    ("See [the plan|https://a.org/p] now", "See the plan now", "See [the plan|https://a.org/p] now"),
    ("The {color:red}gate{color} shuts", "The gate shuts", "The {color:red}gate{color} shuts"),
    ('See "the plan":https://a.org/p now', "See the plan now", 'See "the plan":https://a.org/p now'),
    ("See [[https://a.org][the plan]] now", "See the plan now", "See [[https://a.org][the plan]] now"),
    ("Pay 20{{nbsp}}euros in {{lang|fr|Gand}}", "Pay 20 euros in Gand", "Pay 20{{nbsp}}euros in {{lang|fr|Gand}}"),
    ("Fees of<sup>a,b</sup> today", "Fees of today", "Fees of<sup>a,b</sup> today"),
    ("The Erd\\H{o}s caf\\'e shuts", "The Erdős café shuts", "The Erd\\H{o}s caf\\'e shuts"),
    ("{\\bf The fee} is {\\em 20}", "The fee is 20", "{\\bf The fee} is {\\em 20}"),
    ("\\begin{tabular}{lr}Adult & 20 euros \\\\ \\end{tabular}", "Adult 20 euros", "Adult & 20 euros"),
    ("on pages 5--10", "on pages 5-10", "on pages 5--10"),
    ("See \x1b]8;;https://a.org\x1b\\the plan\x1b]8;;\x1b\\ now", "See the plan now", "See \x1b]8;;https://a.org\x1b\\the plan\x1b]8;;\x1b\\ now"),
    ("The ferry ⛴\ufe0f leaves", "The ferry ⛴ leaves", "The ferry ⛴\ufe0f leaves"),
    # the text itself, to the letter
    ("a[0] is **not** b[0]", "a[0] is **not** b[0]", "a[0] is **not** b[0]"),
    ("The fee ... is 20 euros", "The fee ... is 20 euros", "The fee ... is 20 euros"),
    ("The **fee** [...] is 20 euros", "The fee [...] is 20 euros", "The **fee** [...] is 20 euros"),
    ("Fees: 20 (adults). Then… 30 later.", "20 (adults). Then... 30 later", "20 (adults). Then… 30 later"),
]  # fmt: skip

# What no reader sees there.
ABSENT = [
    ("The <b>ferry</b> leaves at nine.", "The ferry leaves at ten."),
    ("The fee is 2<b>0</b> euros", "The fee is 2 euros"),
    ("about 10<sup>6</sup> birds", "about 106 birds"),
    ("about 10⁶ birds", "about 106 birds"),
    ("The fee<!-- is 20 euros --> is low", "The fee is 20 euros"),
    ('<a title="The fee is 20">plan</a>', "The **fee** is 30"),
    ("The ferry does **not** leave at nine today", "The ferry does leave at nine today"),
    ("The ferry does <b>not</b> leave at nine", "The ferry does leave at nine"),
    (CELLS, "Adult 5 euros"),
    (ROWS, "Adult 30 euros"),
    ("It is shut.<!-- The fee is 30 euros. -->", "The fee is 30 euros."),
    ("<script>say('The fee is 30 euros')</script>It is shut.", "The fee is 30 euros"),
    ("<style>a:after{content:'The fee is 30 euros'}</style>Shut.", "The fee is 30 euros"),
    ("<template>The fee is 30 euros.</template>It is shut.", "The fee is 30 euros."),
    ("<p hidden>The fee is 30 euros.</p><p>It is shut.</p>", "The fee is 30 euros."),
    ('<div style="display:none"><div>a</div>The fee is 30 euros.</div>', "The fee is 30 euros."),
    ("<s>The pool is open on Mondays.</s> It is shut.", "The pool is open on Mondays."),
    ("<del><p>The fee is <b>20</b> euros.</p></del><p>It is 25.</p>", "The fee is 20 euros."),
    ("~~The pool is open on Mondays.~~ It is shut.", "The pool is open on Mondays."),
    ("[s]The pool is open on Mondays.[/s] It is shut.", "The pool is open on Mondays."),
    ("The ~~old~~ ferry leaves", "The old ferry leaves"),
    ("The fee is ~~20~~ 25 euros", "The fee is 20"),
    ("[//]: # (The fee is 30 euros.)\nIt is shut.", "The fee is 30 euros."),
]

STATEMENTS = "The fee is 20 euros for members and 50 euros for guests. It is due on Friday."
# Two parts of a quote, the context, and whether the gap between them hides a statement.
GAPS = [
    (STATEMENTS, "The fee is ... 50 euros", True),
    (STATEMENTS, "The fee is ... 50 euros for guests", True),
    (STATEMENTS, "The fee is 20 euros ... for guests", True),
    (STATEMENTS, "The fee is ... for members", False),
    (STATEMENTS, "The fee ... is due on Friday", True),
    (STATEMENTS, "The fee is [...] 50 euros", True),
    (STATEMENTS, "The fee is … 50 euros", True),
    ("The fee is 20 euros for members and 50 for guests", "The fee is ... 50 for guests", True),
    ("The ferry is old and the bus leaves at nine.", "The ferry ... leaves at nine", True),
    ("The ferry, which is old and slow, leaves at nine.", "The ferry ... leaves at nine", False),
    ("The ferry (built in 1990) leaves at nine.", "The ferry ... leaves at nine", False),
    ("The ferry of the old harbour leaves at nine.", "The ferry ... leaves at nine", False),
    ("The mill, built in 1803, was sold for 50 euros.", "The mill ... was sold for 50 euros", False),
    ("The mill was built in 1803 and burned in 1912.", "The mill was ... burned in 1912", True),
    ("Ghent sells beer and Bruges sells cheese.", "Ghent sells ... cheese", True),
    ("The farm sells milk, eggs and fresh cheese.", "The farm sells ... cheese", False),
    ("The pool is closed on Monday and open on Friday.", "The pool is closed on ... Friday", True),
    ("It opens at nine in May and at ten in June.", "It opens at ... ten in June", True),
    ("The ferry goes to Ghent and the bus to Bruges.", "The ferry goes ... to Bruges", True),
    ("The ferry goes with cars and the mail to Bruges.", "The ferry goes ... to Bruges", False),
    ("Die Fähre ist alt und der Bus fährt um neun.", "Die Fähre ... fährt um neun", True),
    ("Паром стар, но этот автобус едет утром.", "Паром ... едет утром", True),
    ("Le bac est vieux et le bus part à neuf heures.", "Le bac ... part à neuf heures", True),
    ("Le bac, qui est vieux, part à neuf heures.", "Le bac ... part à neuf heures", False),
    ("- The ferry is red\n- The bus leaves at nine", "The ferry ... leaves at nine", True),
    (CELLS, "Adult ... 5 euros", True),
    ("The ferry is red; it leaves at nine.", "The ferry ... leaves at nine", True),
    ("The old red ferry leaves daily at nine.", "The old ... ferry leaves ... at nine", False),
    ("Dogs are allowed here and cats are not allowed there.", "Dogs are ... not allowed there", True),
    ("Dogs are allowed here and cats are not allowed there.", "Dogs ... are not allowed there", True),
    ("Entry is free on Sundays and costs a lot on Fridays.", "Entry is free ... on Fridays", True),
    ("Entry is free on Sundays in May and June.", "Entry is free ... in May", False),
    ("The plant does not need water but does need light.", "The plant does ... need light", True),
    ("Anna lives in Ghent and sells cheese.", "Anna ... sells cheese", False),
    ("Anna lives in Ghent while Ben sells cheese.", "Anna ... sells cheese", True),
    ("Tickets: adults 20 euros; children 5 euros.", "Tickets: ... children 5 euros", True),
]  # fmt: skip


def place(context: str, quote: str, language: str = "en") -> tuple[str | None, bool]:
    """What is shown for a quote, and whether its ellipsis hides something."""
    match = match_quote(Effort(), language, quote, context)
    if match is None:
        return None, False
    start, end, is_broken = match
    return context[start:end], is_broken


def test_there_are_pairs_enough() -> None:
    assert len({(context, quote) for context, quote, _ in [*READ, *GAPS]} | {*ABSENT}) >= 120


@each_case(("context", "quote", "shown"), READ)
def test_quote_as_it_is_read(context, quote, shown):
    assert place(context, quote) == (shown, False)


@pytest.mark.parametrize(("context", "quote"), ABSENT)
def test_quote_that_no_reader_sees(context, quote):
    assert place(context, quote)[0] is None


@each_case(("context", "quote", "is_broken"), GAPS)
def test_ellipsis_stays_in_one_statement(context, quote, is_broken):
    language = {"Die": "de", "Le ": "fr", "Пар": "ru"}.get(context[:3], "en")
    assert place(context, quote, language)[1] is is_broken
    assert place(context, quote, language)[0] is not None


def reply(quote: str) -> dict[str, Any]:
    evidence = [{"context": "c1", "quote": quote, "whole": True}]
    return {
        "code": "$code",
        "sentences": {"s1": {"evidence": evidence, "supported": True}},
        "useful": {"c1": {"useful": True}, "c2": {"useful": False}},
    }


def judge(context: str, quote: str, unit: str) -> Any:
    """The verdict about a unit that a model supports by a quote."""
    model = ScriptedJudge({"joint": [reply(quote)] * 2})
    sample = Sample(reference_facts=[unit], retrieved_contexts=[context, "Nothing else stands here."])
    return ContextRecall(judge=model, unit="fact").score(sample).verdicts[0]


@each_case(("context", "quote", "shown"), READ)
def test_read_quote_makes_a_yes(context, quote, shown):
    verdict = judge(context, quote, quote)
    assert (verdict.value, verdict.code) == (True, None), verdict
    assert [span.quote for span in verdict.evidence] == [shown]
    start, end = verdict.evidence[0].start, verdict.evidence[0].end
    assert context[start:end] == shown


@pytest.mark.parametrize(("context", "quote"), ABSENT)
def test_absent_quote_makes_a_flagged_no(context, quote):
    verdict = judge(context, quote, quote)
    assert (verdict.value, verdict.code) == (False, "unverified_evidence")


def test_hidden_statement_is_flagged():
    verdict = judge(STATEMENTS, "The fee is ... 50 euros", "The fee is 50 euros.")
    assert (verdict.value, verdict.code) == (True, "weak_evidence")
    assert verdict.details["weak"] == ("broken_quote",)
    kept = judge(STATEMENTS, "The fee is ... for members", "The fee is for members.")
    assert (kept.value, kept.code) == (True, None)


HTML = (
    "<h2>Ferry</h2><p>The <b>ferry</b> leaves at <i>nine</i>&nbsp;o'clock.[1]</p>"
    "<table><tr><td>Adult fee</td><td>20 euros</td></tr></table>"
)
ANSWER = {
    "The ferry leaves at nine o'clock.": "The ferry leaves at nine o'clock.",
    "The adult fee is 20 euros.": "Adult fee 20 euros",
}


def answer(request: Any) -> str:
    """A reply that quotes what is read."""
    question = read_question(request.text)
    cells = {
        id_: {
            "evidence": [{"context": "c1", "quote": ANSWER[text], "whole": True}],
            "missing": "",
            "supported": True,
        }
        for id_, text in question.units.items()
    }
    useful = {"c1": {"quote": "", "useful": True}}
    return json.dumps({"code": question.code, "sentences": cells, "useful": useful})


def test_score_command_counts_what_is_read(tmp_path):
    file, out = tmp_path / "samples.jsonl", tmp_path / "out.jsonl"
    row = {"id": "a", "reference": " ".join(ANSWER), "retrieved_contexts": [HTML]}
    file.write_text(json.dumps(row), encoding="utf-8")
    with FakeOpenAIServer(answer) as server:
        options = ("--judge", "openai/m", "--base-url", server.base_url, "-m", "context_recall")
        run_command("score", file, *options, "--out", out, OPENAI_API_KEY="sk-x")
        assert len(server.requests) == 1
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    (score,) = [line for line in lines if "value" in line]
    assert score["value"] == 1.0
    assert [verdict.get("code") for verdict in score["verdicts"]] == [None, None]


def test_model_asks_once_about_markup():
    with FakeOpenAIServer(answer) as server:
        model = OpenAIModel("m", base_url=server.base_url, api_key="k")
        sample = Sample(reference=" ".join(ANSWER), retrieved_contexts=[HTML])
        score = ContextRecall(judge=LLMJudge(model)).score(sample)
        assert (score.value, len(server.requests)) == (1.0, 1)
        assert (
            HTML in read_question(server.requests[0].text).contexts.values()
        )  # the data is shown as it is


def test_no_about_a_visible_sentence_is_flagged():
    assert stands_in("The ferry leaves at nine o'clock.", HTML)
    assert stands_in("The **ferry** leaves at nine o'clock", "The ferry leaves at nine o'clock.")
    assert not stands_in("The ferry leaves at ten o'clock.", HTML)
    no = reply("") | {"sentences": {"s1": {"evidence": [], "supported": False}}}
    no["useful"] = {"c1": {"useful": False}}
    sample = Sample(reference="The ferry leaves at nine o'clock.", retrieved_contexts=[HTML])
    (verdict,) = ContextRecall(judge=ScriptedJudge({"joint": [no]})).score(sample).verdicts
    assert (verdict.value, verdict.code) == (False, "contradicted")


def test_doubts_read_what_is_seen():
    context = "<h2>Fees</h2>" + "<p>The fee is due.</p>" * 5
    whole = [Evidence(0, 4, len(context) - 4, context[4:-4])]
    assert (
        QuotedUnit("The fee is due.", "", [context], "en").find_doubt(context, whole) == "whole_context"
    )
    link = "See the [plan](https://fee.org/fee/fee) there."
    quote = [Evidence(0, 8, 14, link[8:14])]
    assert QuotedUnit("The fee is due.", "", [link], "en").find_doubt(link, quote) == "unrelated"


def test_values_of_other_kinds_may_be_left_out():
    assert not hides_statement("The mill", "built in 1803", "sold for 50 euros", "en")
    assert hides_statement("It costs", "20 dollars by day,", "$50 by night", "en")
    assert hides_statement("It costs", "twenty euros by day,", "50 euros by night", "en")
    assert not hides_statement("It takes", "5 days by sea", "and costs 50 euros", "en")


def test_effort_counts_what_is_seen():
    context = "<b>fee</b> " * 50_000
    with pytest.raises(EffortExceededError):
        find_quote("a fee that stands nowhere", context, Effort(left=1_000_000))
