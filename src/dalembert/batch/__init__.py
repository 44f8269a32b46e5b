"""Members of a batch, run one after another inside one compiled call a thread. `ensembles` is its public face."""
