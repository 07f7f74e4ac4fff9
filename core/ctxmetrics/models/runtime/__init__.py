"""Private: the background loop, runs, limits, retries, the memo, the cache."""
