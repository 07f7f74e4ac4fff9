"""What several adapters are made of: an adapter says where its framework's fields are and what its results look like.

`scorer` serves frameworks that score records (one call a record, fields by key); `params` makes a metric from keywords;
`judge` and `raw` make a framework's model a judge; `embedded` warns when no judge was named.
"""
