"""What the chapters on losses, activations and optimisers show: figures, tables, live figures, exercises."""
