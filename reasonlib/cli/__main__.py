"""``python -m reasonlib.cli``."""

from reasonlib.cli import main

main()
