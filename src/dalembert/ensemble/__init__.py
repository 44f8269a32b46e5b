"""Many runs of one scene: parameters over a grid or from samples, as one labelled dataset; or one compiled batch.

`sweep` is the entry: `plan` lists the members and runs one of them, `executors` run many, in processes, on a cluster or in
batches, and `store` keeps them on disk and assembles the dataset. `batch` is `run_batch`, and `batch_kernel` its kernel."""

from .sweep import Counts, SweepError, sweep

__all__ = ["Counts", "SweepError", "sweep"]
