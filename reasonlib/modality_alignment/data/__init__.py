"""Paired points, simulated and released video questions, and how they become tensors and metrics."""
