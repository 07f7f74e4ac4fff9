"""``ctxmetrics sweep``."""

from __future__ import annotations

import json

from ctxmetrics.cli._options import Columns, ConventionName, File, SchemaName, TextOrJson, check_format
from ctxmetrics.cli._run import samples_of, schema_and_convention
from ctxmetrics.cli._terminal import print_result


def sweep(
    file: File,
    convention: ConventionName = None,
    schema: SchemaName = None,
    columns: Columns = None,
    format: TextOrJson = "text",  # noqa: A002 - the option is named so
) -> None:
    """Show the string variants at min_similarity 0.30 to 0.95, with their agreement where labels are given."""
    from ctxmetrics.agreement.sweep import sweep as scored

    check_format(format, "text", "json")
    schema, convention = schema_and_convention(schema, convention)
    found = scored(samples_of(file, schema, columns), convention=convention)
    print_result(json.dumps(found.to_dict(), indent=1) if format == "json" else str(found))
