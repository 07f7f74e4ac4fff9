"""What adapters are made of: a framework's adapter says where its fields are and what its results look like.

`scorer` and `records` serve frameworks that score rows (one call a row, fields by key), `metric` and `batch` those whose
metrics are objects with fields of their own; `model`, `foreign` and `calling` make a framework's model a judge.
"""
