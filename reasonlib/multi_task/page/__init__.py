"""What the chapters show: figures, the live figure, exercises, labels of tables."""
