"""Errors a user can mend: one line that says what is wrong and what to do."""


class UserError(ValueError):
    """A mistake in what the user gave; the command line prints it without a traceback."""


class BusyError(UserError):
    """Another process is doing this now; the same works once that has ended."""


class DataError(UserError):
    """A corpus, file or line that cannot be used; names the file, the line where known, and the remedy."""
