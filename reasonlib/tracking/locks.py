"""Locks between processes, on files."""

try:
    import fcntl
except ImportError:  # Windows: a single appended write is all there is
    fcntl = None  # type: ignore[assignment]

__all__ = ["lock"]


def lock(handle: int, *, wait: bool = True) -> None:
    """Lock an open file for this process until it is closed; does nothing where there are no such locks.

    Parameters
    ----------
    handle
        Of the open file.
    wait
        Whether to wait for another process that has the lock.

    Raises
    ------
    BlockingIOError
        If another process has it and `wait` is false.
    """
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
