"""Optimisation: losses, activations and the optimisers that follow their slopes."""
