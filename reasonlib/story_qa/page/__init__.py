"""What the chapters on story question answering show: figures, tables, live figures, exercises."""
