"""The library alone: `evaluate`, a cache, a file of results, a report."""

from marked import WORDS, check, fields, own_judge

from ctxmetrics import ContextRecall, Sample, VerdictCache, evaluate

for kind, judge in {"none": None, "model": own_judge()}.items():
    samples = [Sample(**fields(WORDS[kind]))]
    results = evaluate(
        samples,
        [ContextRecall()],
        judge=judge,
        cache=VerdictCache("cache.sqlite"),
        progress=False,
    )
    check(results[0]["context_recall"].value)
    results.to_jsonl(f"{kind}.jsonl")
    results.to_html(f"{kind}.html")
