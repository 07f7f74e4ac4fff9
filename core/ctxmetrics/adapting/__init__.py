"""What adapters are made of: `wrapper` is a metric of the core in a framework, `runners` and `parity` prove it."""
