"""These tests need pydantic-evals."""

import pytest

pytest.importorskip("pydantic_evals", reason="the pydantic-evals extra is not installed")
