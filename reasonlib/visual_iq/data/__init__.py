"""The data of visual IQ tests: examples, simulators, corpus readers, encodings."""
