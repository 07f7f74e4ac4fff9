"""Is this model fit to judge? Labelled samples that come with the library, judged by it, and a sheet of what it found.

``samples`` reads the samples (``samples.json``, described in ``README.md``), ``watching`` notes what a model replies,
``check`` runs them, ``figures`` counts, ``fitness`` holds the bars and names weaknesses, ``sheet`` shows it all.
"""
