"""Exercises that check themselves, and the grading of notebooks."""
