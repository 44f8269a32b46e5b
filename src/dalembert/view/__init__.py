"""Pictures, films, plots, report pages and the live viewer: all read recorded frames, none computes physics."""
