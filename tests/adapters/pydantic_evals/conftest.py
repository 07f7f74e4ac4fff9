"""These tests need pydantic-evals."""

from support.later import skip_without

skip_without("pydantic_evals")
