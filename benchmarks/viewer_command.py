"""`dalembert view` of a scene, which prints when each stage is done; `viewer.py` runs it."""

from __future__ import annotations

import builtins
import json
import sys
import time
from typing import Any


def main(scene: str) -> None:
    """Run `dalembert view`, and print each stage on the standard error: its name, and the time (s) of the clock and of the
    processor."""

    def mark(name: str) -> None:
        print("stage", json.dumps([name, time.time(), time.process_time()]), file=sys.stderr, flush=True)

    def mark_end(owner: Any, name: str, stage: str) -> None:
        function = getattr(owner, name)

        def marked(*arguments: Any, **options: Any) -> Any:
            found = function(*arguments, **options)
            mark(stage)
            return found

        setattr(owner, name, marked)

    mark("interpreter")
    from dalembert import cli
    from dalembert.view.live_server import PageServer

    mark("command line")
    mark_end(PageServer, "announce", "page served")
    mark_end(PageServer, "start_viser", "viser serves")
    usual = builtins.__import__

    def watched(*arguments: Any, **options: Any) -> Any:
        """Mark what the modules do that the command imports, once it has."""
        found = usual(*arguments, **options)
        session = sys.modules.get("dalembert.cli.live_session")
        if hasattr(session, "LiveSession"):
            builtins.__import__ = usual
            mark("viewer imported")
            mark_end(session, "load", "scene built")
            mark_end(sys.modules["dalembert.view.live"].LiveViewer, "say", "scene sent")
            mark_end(session.LiveSession, "_show", "first frame computed")
        return found

    builtins.__import__ = watched
    sys.argv = ["dalembert", "view", scene, "--port", "0"]
    cli.main()


if __name__ == "__main__":
    main(sys.argv[1])
