"""A judge against people's labels."""
