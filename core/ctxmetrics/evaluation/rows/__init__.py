"""The scores of a run, row by row, in memory and in files."""
