"""The columnar form: a table in, the same table with a column a metric out."""
