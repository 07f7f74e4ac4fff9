"""Samples from files: JSON Lines, JSON, CSV, TSV, Parquet and folders of Hugging Face datasets, also compressed.

Each kind of file has a module that gives its rows. Every error names the file, the place and the fix.
"""

from ctxmetrics.files.json_rows import read_records
from ctxmetrics.files.sample_file import SampleFile, read_samples

__all__ = ["SampleFile", "read_records", "read_samples"]
