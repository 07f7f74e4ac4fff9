"""Labels of people beside the scores of a run: majorities, and means corrected by them."""
