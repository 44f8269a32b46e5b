"""Pictures, films, plots, report pages and the live viewer: all of them read recorded frames and compute no physics."""
