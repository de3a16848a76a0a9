"""Run a student's code so that it can do no harm: no network, no other files, limits on what it uses.

`bubblewrap <https://github.com/containers/bubblewrap>`_ (Debian's package ``bubblewrap``) isolates it: the
system is mounted read-only, home folders and the folder of the notebooks are empty, one scratch folder can be
written. Memory, processor time and file sizes are limited by the kernel; the output is cut, and the whole
process group is ended when the time is up.

In a container, bubblewrap usually cannot create its namespaces, and a separate account takes its place: the
code runs as a user that may write one scratch folder and read nothing private, the container itself has no
network and no other files, and whatever that user still runs is ended (``teaching/Containerfile``).
"""

import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

import reasonlib
from reasonlib.errors import UserError

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

__all__ = ["Finished", "Limits", "Process", "is_available"]

LONGEST = 2**26  # bytes of a line
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV", "REASONLIB_DATA", "REASONLIB_CACHE")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a student's process may use.

    Attributes
    ----------
    seconds
        Wall-clock time; processor time is limited to the same.
    memory
        Address space in bytes.
    output
        Bytes of output that are kept; what follows is read and thrown away.
    """

    seconds: float = 600.0
    memory: int = 8 * 2**30
    output: int = 2**20


@dataclass(frozen=True, kw_only=True)
class Finished:
    """How a process ended: its exit code and the start of its output."""

    code: int
    output: str


def is_available() -> bool:
    """Whether bubblewrap is installed and may make its namespaces here."""
    program = shutil.which("bwrap")
    if program is None:
        return False
    probe = [program, "--ro-bind", "/", "/", "--unshare-all", "--dev", "/dev", "--proc", "/proc", "true"]
    return subprocess.run(probe, capture_output=True).returncode == 0


class Process:
    """A command in the sandbox, with lines of JSON to it and from it.

    Parameters
    ----------
    command
        The program and its arguments. ``REASONLIB_PIPES`` in its environment names the file descriptor
        from which it reads lines, and the one to which it writes them.
    scratch
        The one folder it may write to; its working directory and home.
    limits
        What it may use.
    hidden
        Folders that it must not see, such as the one with the notebooks of the class.
    unsafe
        Run without walls, with the limits alone.
    account
        A user, by name or number, that runs the code in place of bubblewrap. It must run nothing else:
        all its processes are ended with this one.

    Raises
    ------
    UserError
        If there is no sandbox on this machine and `unsafe` was not asked for, or there is no such account,
        or only root could run a process as it.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        scratch: Path,
        limits: Limits,
        hidden: Sequence[Path] = (),
        unsafe: bool = False,
        account: str | None = None,
    ) -> None:
        self._user = _user(account)
        if self._user is not None:
            for path in (scratch, *scratch.rglob("*")):
                os.chown(path, self._user, self._user, follow_symlinks=False)
        elif not unsafe:
            if not is_available():
                raise UserError(
                    "there is no sandbox here: install bubblewrap (Debian: apt-get install bubblewrap), "
                    "grade in a container (make grade-image), "
                    "or add --unsafe to run the students' code with your rights"
                )
            command = [*_walls(scratch, hidden), *command]
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        environment |= {
            "HOME": str(scratch),
            "TMPDIR": str(scratch),
            "MPLBACKEND": "agg",
            "OMP_NUM_THREADS": "1",
        }
        environment["PYTHONPATH"] = str(_package_root())
        (reads, self._sends), (self._receives, writes) = os.pipe(), os.pipe()
        environment["REASONLIB_PIPES"] = f"{reads} {writes}"
        self.process = subprocess.Popen(
            command,
            cwd=scratch,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=[reads, writes],
            preexec_fn=lambda: _limit(limits),
            **_as_user(self._user),
        )
        os.close(reads)
        os.close(writes)
        os.set_blocking(self._receives, False)
        os.set_blocking(self._sends, False)
        self._buffer = bytearray()
        assert self.process.stdout is not None
        self._output = _Reader(self.process.stdout, limits.output)

    def send(self, line: str, deadline: float) -> None:
        """Send a line.

        Raises
        ------
        EOFError
            If the process has ended.
        TimeoutError
            If it does not read until the deadline, a value of `time.monotonic`.
        """
        data = memoryview(f"{line}\n".encode())
        while data:
            if not select.select([], [self._sends], [], _left(deadline))[1]:
                raise TimeoutError
            try:
                data = data[os.write(self._sends, data) :]
            except BlockingIOError:
                continue
            except OSError:
                raise EOFError from None

    def receive(self, deadline: float) -> str:
        """Wait for the next line.

        Raises
        ------
        EOFError
            If the process has ended, or sent a line that is too long.
        TimeoutError
            If there is none at the deadline.
        """
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > LONGEST:
                raise EOFError("it returned too much")
            if not select.select([self._receives], [], [], _left(deadline))[0]:
                raise TimeoutError
            try:
                data = os.read(self._receives, 2**16)
            except BlockingIOError:
                continue
            if not data:
                raise EOFError
            self._buffer += data
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line.decode("utf-8", "replace")

    def end(self) -> Finished:
        """End it with all its children; return how it ended."""
        code = self.process.poll()
        os.close(self._sends)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # children that outlive it, too
        except ProcessLookupError:
            pass
        if self._user is not None:  # also what left the group
            every = "import os, signal; os.kill(-1, signal.SIGKILL)"
            subprocess.run([sys.executable, "-I", "-c", every], **_as_user(self._user), capture_output=True)
        self.process.wait()
        os.close(self._receives)
        return Finished(code=self.process.returncode if code is None else code, output=self._output.text())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.returncode is None:
            self.end()


def _user(account: str | None) -> int | None:
    """Return the number of an account that is not root's."""
    if account is None:
        return None
    import pwd

    try:
        user = int(account) if account.isdecimal() else pwd.getpwnam(account).pw_uid
    except KeyError:
        raise UserError(f"there is no account {account!r} to run the students' code") from None
    if not 0 < user < 2**31:
        raise UserError(f"the students' code needs an account of its own, got {account!r}")
    if os.geteuid() != 0:
        raise UserError("only root can run the students' code as another account; see make grade-image")
    return user


def _as_user(user: int | None) -> dict[str, Any]:
    return {} if user is None else {"user": user, "group": user, "extra_groups": []}


def _left(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())


def _package_root() -> Path:
    return Path(reasonlib.__file__).resolve().parents[1]


def _walls(scratch: Path, hidden: Sequence[Path]) -> list[str]:
    """Return the call of bubblewrap: system read-only, private folders empty, library and Python visible."""
    walls = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/", "/"]
    walls += ["--dev", "/dev", "--proc", "/proc"]
    private = [Path("/tmp"), Path("/var/tmp"), Path("/home"), Path("/root"), Path.home(), *hidden]
    private = [folder.resolve() for folder in private if folder.is_dir()]
    for folder in dict.fromkeys(private):
        walls += ["--tmpfs", str(folder)]
    needed = [Path(sys.prefix), Path(sys.base_prefix), _package_root() / "reasonlib"]
    needed += [Path(os.environ[name]) for name in ("REASONLIB_DATA", "REASONLIB_CACHE") if name in os.environ]
    for folder in (folder.resolve() for folder in needed if folder.is_dir()):
        if any(folder.is_relative_to(other) for other in private):
            walls += ["--ro-bind", str(folder), str(folder)]
    return [*walls, "--bind", str(scratch), str(scratch), "--chdir", str(scratch), "--"]


def _limit(limits: Limits) -> None:
    """Set the kernel's limits, in the child before it starts."""
    assert resource is not None
    seconds = int(limits.seconds) + 1
    for kind, value in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_FSIZE, 2**28),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (value, value))


class _Reader:
    """Read a stream to its end in the background, keeping only its first `limit` bytes."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        self.stream, self.left = stream, limit
        self.kept: list[bytes] = []
        self.thread = threading.Thread(target=self._drain, daemon=True)
        self.thread.start()

    def _drain(self) -> None:
        while piece := self.stream.read1(65536):  # type: ignore[attr-defined]
            if self.left > 0:
                self.kept.append(piece[: self.left])
                self.left -= len(piece)

    def text(self) -> str:
        """Return what was kept, once the stream has ended."""
        self.thread.join(5)
        self.stream.close()
        return b"".join(self.kept).decode("utf-8", "replace")
