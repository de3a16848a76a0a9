"""Dialogues with a state at every turn: simulated, read from MultiWOZ, encoded and scored."""
