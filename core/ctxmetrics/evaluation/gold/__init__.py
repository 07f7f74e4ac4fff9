"""What samples expect, checked: ids, references, questions, and gold that a retriever made. `check_gold` does it all."""
