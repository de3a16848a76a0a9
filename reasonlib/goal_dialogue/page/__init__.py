"""What the chapters on goal-oriented dialogue show: figures, tables, live figures, exercises."""
