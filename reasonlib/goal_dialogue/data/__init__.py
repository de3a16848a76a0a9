"""The data of goal-oriented dialogue: examples, simulators, corpus readers, encodings."""
