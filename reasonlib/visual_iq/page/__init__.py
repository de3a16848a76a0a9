"""What the chapters on visual IQ tests show: figures, tables, live figures, exercises."""
