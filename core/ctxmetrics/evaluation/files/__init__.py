"""How a file or a table of samples is read."""
