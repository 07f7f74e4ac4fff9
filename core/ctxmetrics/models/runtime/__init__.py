"""Private: the background loop, runs, limits, retries, the memo and the cache."""
