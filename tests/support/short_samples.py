"""Three short samples with questions, references and contexts of this project."""

from __future__ import annotations

from ctxmetrics import Sample

SAMPLES = [
    Sample(
        id="tower",
        user_input="When did the tower open?",
        reference="The tower opened in 1889.",
        retrieved_contexts=["The tower opened to visitors in 1889.", "Cheese is made from milk."],
    ),
    Sample(
        id="ferry",
        user_input="How long does the ferry take, and what does a ticket cost?",
        reference="The ferry takes two hours. A ticket costs 20 euros.",
        retrieved_contexts=["The ferry takes 2 hours. Bicycles travel free."],
    ),
    Sample(
        id="garden",
        user_input="How often are the roses watered?",
        reference="The roses are watered every evening.",
        retrieved_contexts=["The garden has two gates.", "Water the roses every evening."],
    ),
]
