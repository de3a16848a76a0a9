"""Goal-oriented dialogue: memory networks book a table."""
