"""A framework's run as results, and its values beside the core's."""
