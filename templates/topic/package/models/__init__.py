"""The models of TOPIC, one system a file."""
