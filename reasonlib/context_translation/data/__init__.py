"""Parallel documents as batches with context, data sets by name, and the metrics of translations."""
