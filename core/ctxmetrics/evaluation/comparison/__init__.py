"""Two runs on the same samples: what became better, what was lost, and whether that is more than chance."""
