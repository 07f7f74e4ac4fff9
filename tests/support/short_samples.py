"""Five short samples with questions, references and contexts of this project."""

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
    Sample(
        id="library",
        user_input="Who may borrow books?",
        reference="Every resident may borrow five books.",
        retrieved_contexts=["The library closes at six."],
    ),
    Sample(
        id="bridge",
        user_input="What is the bridge made of?",
        reference="The bridge is made of steel.",
        retrieved_contexts=["The old bridge was made of wood.", "The new bridge is made of steel."],
    ),
]
