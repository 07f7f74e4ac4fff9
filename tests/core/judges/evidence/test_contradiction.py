"""A yes that its own evidence denies, or that shares one word with it; and useless contexts that hold a sentence."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    LLMJudge,
    Sample,
    evaluate,
)
from ctxmetrics.judges.evidence.contradiction import find_contradiction
from ctxmetrics.judges.evidence.quotes import QuotedUnit
from ctxmetrics.judges.llm import checking, located_quotes
from ctxmetrics.judges.scripted import ScriptedModel
from support.cases import each_case

TOWERS = "The castle is old. Its towers were not built by Queen Maud. It has a moat."


def judged(reference, context, quote, *, joint=True, useful=None, own=None, **options):
    """Judge a reference of one sentence and one context, and a second context about nothing."""
    evidence = [{"context": "c1", "quote": quote, "whole": True}] if quote else []
    useful = bool(quote) if useful is None else useful
    missing = "" if quote else reference
    units = {"s1": {"evidence": evidence, "missing": missing, "supported": bool(quote)}}
    rated = {"c1": {"quote": own or "", "useful": useful}, "c2": {"quote": "", "useful": False}}
    steps = (
        {"joint": {"sentences": units, "useful": rated}}
        if joint
        else {"attribution": {"sentences": units}, "usefulness": {"useful": rated}}
    )
    replies = {step: [{"code": "$code", **parts}] for step, parts in steps.items()}
    sample = Sample(reference=reference, retrieved_contexts=[context, "It rained."])
    judge = LLMJudge(ScriptedModel(replies), joint=joint, **options.pop("judge", {}))
    metrics = [ContextRecall(), ContextPrecision()]
    (row,) = evaluate([sample], metrics, judge=judge, progress=False, **options)
    return row["context_recall"].verdicts[0], row["context_precision"].verdicts[0]


# A reference and a quote that denies it or has another value: a yes with this quote was not flagged.
DENYING_QUOTES = [
    ("Çocuklar havuza girebilir.", "Çocuklar havuza giremez."),
    ("Sürücü sınavı geçemedi.", "Sürücü sınavı geçti."),
    ("Otobüs her gün gider.", "Otobüs her gün gitmez."),
    ("Bilgisayar internet istiyor.", "Bilgisayar internet istemiyor."),
    ("Park yeri ücretlidir.", "Park yeri ücretli değildir."),
    ("Otelde otopark vardır.", "Otelde otopark yoktur."),
    ("A jegy visszaváltható.", "A jegy nem visszaváltható."),
    ("A szerződést aláírták.", "A szerződést nem írták alá."),
    ("Psi smějí do parku.", "Psi nesmějí do parku."),
    ("Hinta sisältää aamiaisen.", "Hinta ei sisällä aamiaista."),
    ("Muzejs pirmdien ir atvērts.", "Muzejs pirmdien nav atvērts."),
    ("合同已经签署。", "合同尚未签署。"),
    ("تم توقيع العقد.", "لم يتم توقيع العقد."),
    ("قیمت شامل صبحانه است.", "قیمت شامل صبحانه نیست."),
    ("Офис на третьем этаже.", "Офис на втором этаже."),
    ("Biuro jest na trzecim piętrze.", "Biuro jest na drugim piętrze."),
    ("Az iroda a harmadik emeleten van.", "Az iroda a második emeleten van."),
    ("कार्यालय तीसरी मंज़िल पर है।", "कार्यालय दूसरी मंज़िल पर है।"),
    ("Văn phòng ở tầng ba.", "Văn phòng ở tầng hai."),
    ("比赛以三比一结束。", "比赛以一比三结束。"),
    ("The file is 3 MB.", "The file is 3 Mb."),
    ("The ratio is 1:10.", "The ratio is 10:1."),
    ("The dose is 12.400 mg.", "The dose is 12400 mg."),
    ("[1, 2, 3]", "[3, 2, 1]"),
]


@each_case(("reference", "quote"), DENYING_QUOTES)
def test_quotes_that_deny_in_many_languages_flag_a_yes(reference, quote):
    verdict, _ = judged(reference, quote, quote)
    assert (verdict.value, verdict.code) == (True, "contradicted")


# The same statement in both, with words that look like denials or other values.
AGREEING_QUOTES = [
    ("Garanti su hasarını kapsamaz.", "Garanti su hasarını hiçbir durumda kapsamaz."),
    ("Restoran akşam 10'da kapanır.", "Restoran akşam 10'da kapanıyor."),
    ("Die Dosis beträgt 12.400 mg.", "Die Dosis beträgt 12400 mg."),
    ("[1, 2, 3]", "The function returns [1, 2, 3]."),
    ("Văn phòng ở tầng ba.", "Văn phòng ở tầng 3."),
    ("全体の三割五分が反対した。", "全体の35%が反対した。"),
    ("平成元年に開業した。", "1989年に開業した。"),
]


@each_case(("reference", "quote"), AGREEING_QUOTES)
def test_quotes_in_another_form_are_not_flagged(reference, quote):
    verdict, _ = judged(reference, quote, quote)
    assert (verdict.value, verdict.code) == (True, None)


@pytest.mark.parametrize(
    ("reference", "context", "quote"),
    [
        ("Its towers were built by Queen Maud.", TOWERS, "built by Queen Maud"),
        ("Its towers were built by Queen Maud.", TOWERS, "Its towers were not built by Queen Maud."),
        ("Its towers were not built by Maud.", TOWERS.replace(" not", ""), "built by Queen Maud"),
        (
            "Wild hemp thrives there.",
            "Wild hemp no longer, as they say, thrives there.",
            "thrives there",
        ),
        ("The pump never hums.", "The pump hums all night.", "The pump hums all night"),
        ("Башни построила королева Мод.", "Башни не построила королева Мод.", "построила королева Мод"),
    ],
)
def test_yes_denied_by_its_own_quote_stands_and_is_flagged(reference, context, quote):
    unit, useful = judged(reference, context, quote)
    assert (unit.value, unit.code, unit.details["weak"]) == (True, "contradicted", ("denied",))
    assert "its evidence says otherwise: negation" in unit.reason
    assert (useful.value, useful.code) == (True, "contradicted")
    _, useless = judged(reference, context, quote, useful=False)
    assert (useless.value, useless.code) == (False, "contradicted")  # such evidence does not win


@pytest.mark.parametrize(
    ("reference", "context", "quote"),
    [
        ("It has a moat.", TOWERS, "has a moat"),  # another sentence denies something
        ("Its towers were not built by Maud.", TOWERS, "not built by Queen Maud"),
        (
            "It holds 40 cars.",
            "It has room for 30 cars.",
            "It has room for 30 cars",
        ),  # other words beside the number
        ("Not only towers were built.", "Towers were built.", "Towers were built"),
    ],
)
def test_what_is_no_denial_is_not_flagged(reference, context, quote):
    assert judged(reference, context, quote)[0].code is None


def test_another_number_between_the_same_words_is_flagged():
    unit, useful = judged("It holds 40 cars.", "It holds 30 cars.", "It holds 30 cars")
    assert (unit.value, unit.code, unit.details["weak"]) == (True, "contradicted", ("denied",))
    assert "number: '40' against '30'" in unit.reason
    assert (useful.value, useful.code) == (True, "contradicted")


# A sentence, and a quote that a model gives for it although it says otherwise.
OTHERWISE = [
    ("The match ended 4–3.", "The match ended 3–4."),
    ("Water boils at 212 °F.", "Water boils at 212 °C."),
    ("The field covers 3 hectares.", "The field covers 3 acres."),
    ("Seat 14C is free.", "Seat 14D is free."),
    ("There are 1.5 million users.", "There are 150,000 users."),
    ("12 windows face north.", "14 windows face north."),
    ("Adults pay 12 euros and children pay 6 euros.", "Adults pay 6 euros and children pay 12 euros."),
    ("He married in 1950 and died in 1990.", "He married in 1990 and died in 1950."),
    ("Alice sold the boat to Bob.", "Bob sold the boat to Alice."),
    ("The firm did not pay the fine.", "The firm paid the fine."),
    ("He failed to reach the top.", "He reached the top."),
    ("It costs 20 euros per person.", "It costs 20 euros per group."),
]


@pytest.mark.parametrize(("reference", "quote"), OTHERWISE)
def test_yes_whose_quote_has_another_value_is_flagged(reference, quote):
    unit, _ = judged(reference, quote, quote)
    assert (unit.value, unit.code) == (True, "contradicted")


@pytest.mark.parametrize(
    ("reference", "quote"),
    [
        (
            "The interactive museum tells what horses played.",
            "The interactive museum and its horses display.",
        ),
        (
            "Only members may vote in May.",
            "Members may vote in May.",
        ),  # people's evidence often lacks "only"
        ("It opens at half past five.", "It opens at 17:30."),  # words name either half of the day
        ("It weighs 5 miles of rope.", "It weighs 8 km of rope."),  # units that are not converted
        ("Add ¾ cup of milk.", "Add 0.75 cup of milk."),
    ],
)
def test_yes_whose_quote_may_say_the_same_is_not_contradicted(reference, quote):
    assert judged(reference, quote, quote)[0].code != "contradicted"


@pytest.mark.slow
def test_quotes_deny_most_other_values_and_no_equal_one():
    table = Path(__file__).parents[2].joinpath("text", "quantities.json")
    rows = json.loads(table.read_text(encoding="utf-8"))["pairs"]
    silent_count = 0
    other_count = 0
    for language, reference, quote, verdict, _ in rows:
        denial = QuotedUnit(reference, reference, [quote], language).find_denial([quote], [quote])
        if verdict == "yes":
            assert denial is None, (reference, quote)
        else:
            other_count += 1
            silent_count += denial is None
    assert silent_count <= 0.06 * other_count


def test_another_sentence_that_states_it_is_evidence_too():
    both = f"{TOWERS} A later sign says that its towers were built by Queen Maud."
    assert judged("Its towers were built by Queen Maud.", both, "towers were built")[0].code is None


def test_older_cache_is_read_and_verdicts_checked_the_same(tmp_path, monkeypatch):
    from ctxmetrics.judges.llm.judge import forget

    told = ("Its towers were built by Queen Maud.", TOWERS, "built by Queen Maud")
    forget()
    with monkeypatch.context() as before:
        before.setattr(QuotedUnit, "find_denial", lambda *_: None)
        assert judged(*told, cache=tmp_path)[0].code is None
    forget()
    verdict, _ = judged(*told, cache=tmp_path, max_calls=0)
    assert (verdict.value, verdict.code) == (True, "contradicted")
    assert "its evidence says otherwise" in verdict.reason


@pytest.mark.parametrize(
    ("unit", "sentences", "language", "kind"),
    [
        # A German negation may stand behind what it denies, an English one does not.
        ("Das Kind isst den Apfel nicht.", ["Das Kind isst nicht den Apfel."], "de", None),
        ("It has towers, no bridges.", ["It has no towers, it has bridges."], "en", "negation"),
        # What the sentence denies stands in it once more.
        (
            "The cross is given to civilians.",
            ["The cross is given to civilians although no civilian has it now."],
            "en",
            None,
        ),
        ("The cross is given to civilians.", ["The cross is given to no civilians."], "en", "negation"),
        # What the sentence denies the unit denies as well, beside another statement with the same word.
        (
            "Ohio does not tax its own prizes, but it taxes prizes of other states.",
            ["Ohio does not tax its own prizes."],
            "en",
            None,
        ),
        ("Ohio taxes its own prizes.", ["Ohio does not tax its own prizes."], "en", "negation"),
        # The sentence with the unit's own number holds as many of its other words.
        ("It holds 40 cars.", ["It holds 40 cars.", "It holds 30 cars."], "en", None),
        ("It holds 40 cars.", ["It holds 30 cars."], "en", "number"),
        ("It holds 40 cars.", ["It holds its cars."], "en", None),
        ("It holds 40 cars.", ["Cars it holds: 30"], "en", None),
    ],
)
def test_what_sentences_deny(unit, sentences, language, kind):
    found = find_contradiction(unit, sentences, language)
    assert (found and found.kind) == kind


FERRY = "The northern ferry carries tourists, bicycles, mail and fresh bread towards distant islands."


@pytest.mark.parametrize(
    ("reference", "context", "quote", "weak"),
    [
        (FERRY, "The harbour is small. A ferry was painted blue.", "A ferry was painted", ("few_words",)),
        (FERRY, "The ferry was blue and carried some mail.", "The ferry was blue", None),  # in its sentence
        ("The ferry carries mail.", "A ferry was painted blue.", "A ferry was painted", None),  # short
        (FERRY, "Die ferry wurde von der Werft und dem Amt blau gestrichen.", "Die ferry wurde von", None),
        (FERRY, "Паром ferry вышел в море рано утром.", "Паром ferry вышел", None),
        ("北京是中国的首都也是文化中心。", "今天在北京下了一场大雨。", "今天在北京下了一场大雨", ("few_words",)),
        ("北京是中国的首都也是文化中心。", "中国的首都是北京。", "中国的首都是北京", None),
        # Sentences without a space between them: one that only touches the quote is not its own.
        ("北京是中国的首都也是文化中心。", "北京是中国的首都。今天在北京下了一场大雨。", "今天在北京下了一场大雨", ("few_words",)),
        ("北京是中国的首都也是文化中心。", "今天在北京下了一场大雨。北京是中国的首都。", "今天在北京下了一场大雨。", ("few_words",)),
    ],
)  # fmt: skip
def test_one_word_in_common_is_little_for_a_unit_of_many(reference, context, quote, weak):
    unit, _ = judged(reference, context, quote)
    assert (unit.value, unit.details.get("weak")) == (True, weak)
    assert unit.code == ("weak_evidence" if weak else None)
    _, useful = judged(reference, context, None, useful=True, own=quote)
    assert (useful.value, useful.details.get("weak")) == (True, weak)
    if weak:
        assert judged(reference, context, quote, judge={"evidence": "strict"})[0].value is False


@pytest.mark.parametrize("joint", [True, False])
def test_useless_context_with_a_verbatim_sentence_is_flagged(joint):
    _, context = judged("Its towers were not built by Queen Maud!", TOWERS, None, joint=joint)
    assert (context.value, context.code) == (False, "contradicted")
    _, other = judged("It has no moat at all.", TOWERS, None, joint=joint)
    assert (other.value, other.code) == (False, None)


@pytest.mark.parametrize(
    ("context", "code"),
    [
        ("The river is longer than most. The river is long.", "contradicted"),
        ("The river is long. The river is longer than most.", "contradicted"),
        ("The river is longer than most. The river is longish.", None),
        ("Critics dispute the claim that the river is long.", None),
        ("The river is long, or so they say.", None),
        ("The river is long?", None),
        ("- The river is long\n- It is old", "contradicted"),
    ],
)
def test_sentence_is_located_after_a_longer_one_with_its_start(context, code):
    unit, useless = judged("The river is long.", context, None)
    assert (unit.value, unit.code, useless.value, useless.code) == (False, code, False, code)


def test_every_doubt_is_one_that_a_cache_may_hold():
    files = (Path(checking.__file__), Path(located_quotes.__file__))
    source = "".join(file.read_text(encoding="utf-8") for file in files)
    from ctxmetrics.judges.llm.comparing import DOUBTS

    assert set(re.findall(r'"(few_words|another_context|broken_quote)"', source)) <= DOUBTS
    assert "denied" in DOUBTS


@pytest.mark.parametrize(
    ("unit", "sentence", "is_contrary"),
    [
        ("The author is not known.", "The author is unknown.", False),
        ("The road is passable.", "The road is not impassable.", False),
        ("The road is passable.", "The road is impassable.", True),
        ("The road is not passable.", "The road is not impassable.", True),
    ],
)
def test_a_denied_prefix_states_the_word(unit, sentence, is_contrary):
    contradiction = find_contradiction(unit, [sentence], "en", is_quoted=True)
    assert (contradiction is not None) is is_contrary
