"""Words and pages: what shows results. Everything that comes from outside is escaped."""
