"""The models of goal-oriented dialogue, one system a file."""
