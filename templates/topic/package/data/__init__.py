"""The data of TOPIC: examples, the simulator, the reader of the real files."""
