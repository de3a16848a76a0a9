"""What the chapters show: figures, the live figures, exercises, words of tables."""
