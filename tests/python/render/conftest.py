"""Fixtures of the render tests."""

from __future__ import annotations

import pytest

from .harness import Renderer


@pytest.fixture
def macros() -> Renderer:
    """A renderer in which every query is a failure until a test announces it."""
    return Renderer()
