"""Dialogue state tracking: a token for every domain and slot."""
