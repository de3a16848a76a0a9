"""Encoders, objectives that align them, and the systems that answer video questions."""
