"""Many runs of one scene: parameters over a grid or from samples, one labelled dataset of all of them.

`plan` says who the members are, `task` runs one, `processes`, `cluster` and `batches` run many, `store` keeps them on disk,
`assemble` makes one dataset of them; `sweep` is all of it.
"""

from .sweep import Counts, SweepError, sweep

__all__ = ["Counts", "SweepError", "sweep"]
