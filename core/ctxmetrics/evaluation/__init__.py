"""What one does with many numbers: files, runs, reports, comparisons, agreement with people, commands."""
