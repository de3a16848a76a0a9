"""The models of story question answering, one system a file."""
