"""The data of story question answering: examples, simulators, corpus readers, encodings."""
