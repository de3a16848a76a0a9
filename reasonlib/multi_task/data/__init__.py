"""Data: the simulated family of tasks, readers of released sets, sampling, metrics."""
