"""TOPIC: one line that says what it is about."""
