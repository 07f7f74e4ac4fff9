"""What is done with scores: rows, summary, file, curve, report, comparison, labels."""
