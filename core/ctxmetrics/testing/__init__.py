"""The golden cases, and what puts them through an adapter: see docs/own-adapter.md."""
