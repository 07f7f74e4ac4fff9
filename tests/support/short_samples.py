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
        id="pump",
        user_input="How long is the pump guaranteed, and what does registration cost?",
        reference="The pump is guaranteed for three years. Registration costs 20 euros.",
        retrieved_contexts=["The pump is guaranteed for 3 years. Registration is free."],
    ),
    Sample(
        id="filter",
        user_input="How often are the filters washed?",
        reference="The filters are washed every month.",
        retrieved_contexts=["The pump has two filters.", "Wash the filters once a month."],
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
