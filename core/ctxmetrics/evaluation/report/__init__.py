"""One view of results: as plain data, as text and as a page."""
