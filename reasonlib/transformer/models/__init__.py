"""The models of the Transformer, one system a file."""
