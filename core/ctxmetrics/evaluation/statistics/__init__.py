"""Statistics of differences between runs: pure functions over numbers."""
