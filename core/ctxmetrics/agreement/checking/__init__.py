"""A judge on labelled samples that come with the library (``samples.json``, described in ``README.md``)."""
