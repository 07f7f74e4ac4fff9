"""The limits that ten providers set to a JSON schema, beside what the schema of a reply has; no provider is called.

    python benchmarks/run.py schema_limits [--sentences 12] [--contexts 20]

Ends with 1 if a schema is above a limit of `support.schema_limits`.
"""

from __future__ import annotations

from _shared import arguments, docs

from support.schema_limits import LIMITS, list_excesses, measure


def run(argv: list[str]) -> dict[str, object]:
    options = arguments.make_parser("schema_limits", sentences=12, contexts=20).parse_args(argv)
    figures = measure(options.sentences, options.contexts)
    rows = []
    for provider, limits in LIMITS.items():
        largest = {name: max(counts[name] for counts in figures.values()) for name in limits}
        cells = [f"{name} {most:,}: {largest[name]:,}" for name, most in limits.items()]
        rows.append((provider, "; ".join(cells)))
    print(docs.markdown(("provider", "limit: what the largest of the schemas has"), rows))
    return {"benchmark": "schema_limits", "over": list_excesses(figures)}
