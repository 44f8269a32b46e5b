"""The run that most of these tests look at."""

import pytest
from synthetic_run import synthetic


@pytest.fixture(scope="session")
def run():
    """A trajectory made up from formulas."""
    return synthetic()
