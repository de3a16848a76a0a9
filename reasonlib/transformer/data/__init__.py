"""The data of the Transformer: examples, simulators, corpus readers, encodings."""
