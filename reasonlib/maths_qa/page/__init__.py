"""What the chapters on mathematics questions show."""
