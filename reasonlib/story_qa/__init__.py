"""Story question answering: the twenty bAbI tasks, memory networks and BERT."""
