"""What several benchmarks share: arguments, data, tables in pages, judges with known truth, the mark of the embedded judge."""
