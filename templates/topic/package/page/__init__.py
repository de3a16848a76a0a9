"""What the chapters of TOPIC show: figures, live figures, exercises."""
