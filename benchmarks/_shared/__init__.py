"""What several benchmarks share: tables in pages, judges with known truth, the mark of the embedded judge."""
