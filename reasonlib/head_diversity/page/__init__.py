"""What the chapters on heads that differ show: figures, live figures, labels, exercises."""
