"""What the chapters on the Transformer show: figures, tables, live figures, exercises."""
