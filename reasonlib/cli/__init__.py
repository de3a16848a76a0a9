"""The command ``reasonlib``: list, run, claims, settle, records, data, ask, grade, and commands of topics.

A topic adds its own commands by a module ``page/commands.py`` with ``COMMANDS``, name to function.

Exit codes: 0 all went well; 1 something failed (a download, a check, a run); 2 a mistake in what was asked,
said in one line on standard error; 130 stopped by the user. ``--json`` prints what a program would read.
"""

from reasonlib.cli.commands import app, main
from reasonlib.cli.common import FAILED, MISTAKE, STOPPED

__all__ = ["FAILED", "MISTAKE", "STOPPED", "app", "main"]
