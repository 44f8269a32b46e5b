"""The package usd-core, which is needed for USD files only."""

from __future__ import annotations

SUFFIXES = (".usda", ".usdc", ".usd")


def require_usd() -> None:
    """Raises ImportError with the way out where usd-core is not installed."""
    try:
        import pxr  # noqa: F401
    except ImportError:
        raise ImportError("USD files need the package usd-core: pip install 'dalembert[usd]'") from None
