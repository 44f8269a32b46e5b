"""Energies of a few particles each, with their gradients and Hessians: one file a kind."""
