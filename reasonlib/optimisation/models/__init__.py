"""The models of losses, activations and optimisers, one system a file."""
