"""`dalembert replay RUN`."""

from __future__ import annotations

import sys
from pathlib import Path

from . import INTERRUPTED, REFUSED, command, plain_warnings

SAME, DIFFERENT = 0, 1


@command("replay")
@plain_warnings()
def replay(run: Path, /, *, scene: str | None = None) -> int:
    """Run a saved run again, and say whether all bits are the same. Exit code 0 if they are, 1 if not.

    Parameters
    ----------
    run
        A saved run (.nc), or a member of a sweep (members/*.nc in its folder).
    scene
        The Python file with build(), or the model, that was run; it is executed. Not needed for scenes of the gallery.
    """
    from ..replay import replay as replayed

    try:
        found = replayed(run, scene)
    except (ValueError, OSError, ImportError) as error:
        print(f"dalembert: {run}: {error}", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED
    print(found)
    return SAME if found.same else DIFFERENT
