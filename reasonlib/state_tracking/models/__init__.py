"""The systems of this topic, one a file."""
