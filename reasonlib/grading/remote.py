"""Calls between a check and a student's process, in both directions, over two pipes.

::

    check: answer(query, f) --call--> student's process: runs the function
           f(x)            <--call--  ... which may call what the check gave it ...
                            --value-->
           result          <--value--

Both sides are a `Peer`. While a side waits for the value of a call it answers the calls of the other, so that
functions can be arguments and results. Values are read as data alone (`reasonlib.grading.values`).
"""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from reasonlib.grading import answers, values

__all__ = ["Ended", "Peer", "Remote", "RemoteFunction"]

CALLABLES = 200  # methods of an object that are named to the other side


class Ended(BaseException):
    """The other process has ended, or its time was up; no `except Exception` of a check catches it."""


class Remote:
    """An object of the other process: what it calls itself, and its methods."""

    is_remote = True

    def __init__(self, peer: "Peer", number: int, about: dict[str, Any]) -> None:
        self._peer, self._number, self._about = peer, number, about

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The class of the library that it says it is of, for `isinstance`."""
        module, name = self._about.get("class", ["", ""])
        try:
            return (
                type(self) if not module.startswith(values.PACKAGE) else values._library_class(module, name)
            )
        except (values.NotData, AttributeError, ImportError):
            return type(self)

    def __getattr__(self, name: str) -> Any:
        if name not in self._about.get("methods", ()):
            raise AttributeError(name)
        return lambda *arguments, **named: self._peer.call(self._number, name, arguments, named)

    def __repr__(self) -> str:
        return f"<{self._about.get('name', 'an object')}>"


class RemoteFunction(Remote):
    """A function or another callable object of the other process."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call it there."""
        return self._peer.call(self._number, "", arguments, named)


class Peer:
    """One side of the connection.

    Parameters
    ----------
    send
        Sends one message.
    receive
        Waits for the next one; raises `Ended` where there will be none.
    networks
        "send" on the side of the check, "make" on the student's: networks are sent with their weights in that
        direction alone.
    """

    def __init__(
        self, send: Callable[[dict[str, Any]], None], receive: Callable[[], dict[str, Any]], *, networks: str
    ) -> None:
        self.send, self.receive, self.networks = send, receive, networks
        self.objects: list[Any] = []
        self.about: list[dict[str, Any]] = []
        self.calls = 0
        self.around: Callable[[Callable[[], Any]], Any] = lambda run: (
            run()
        )  # the student's side bounds the time

    def encode(self, value: Any) -> Any:
        """Turn a value into a message."""
        return values.encode(value, self._refer, networks=self.networks == "send")

    def decode(self, text: Any) -> Any:
        """Turn a message into a value."""
        return values.decode(text, self._dereference, networks=self.networks == "make")

    def _refer(self, value: Any) -> Any:
        if getattr(type(value), "is_remote", False):
            return {"o": value._number}
        for number, stored in enumerate(self.objects):
            if stored is value:
                return {"r": self.about[number]}
        return {"r": self.offer(value)}

    def offer(self, value: Any) -> dict[str, Any]:
        """Make an object callable from the other process; return the description that is sent there."""
        methods = [name for name in dir(type(value)) if not name.startswith("_")]
        self.objects.append(value)
        self.about.append(
            {
                "number": len(self.about),
                "call": callable(value),
                "methods": [name for name in methods if callable(getattr(value, name, None))][:CALLABLES],
                "name": str(getattr(value, "__name__", type(value).__name__)),
                "class": [type(value).__module__, type(value).__qualname__],
            }
        )
        if self.networks == "make":  # a student's function
            self.about[-1] |= {"source": answers.source(value)[:20_000], "stub": answers.is_stub(value)}
        return self.about[-1]

    def _dereference(self, kind: str, content: Any) -> Any:
        if kind == "o":
            return self.objects[content]
        return (RemoteFunction if content["call"] else Remote)(self, content["number"], content)

    def call(self, number: int, method: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Call an object of the other side; what it changed in its arguments is changed here, too.

        Raises
        ------
        answers.StudentError
            With what the other side says about the exception that was raised there.
        """
        self.calls += 1
        ticket = self.calls
        self.send(
            {
                "kind": "call",
                "ticket": ticket,
                "number": number,
                "method": method,
                "arguments": [self.encode(item) for item in arguments],
                "named": {name: self.encode(item) for name, item in named.items()},
            }
        )
        while True:
            message = self.receive()
            if message.get("kind") == "call":
                self.answer(message)
            elif message.get("ticket") == ticket and message.get("kind") == "error":
                raise answers.StudentError(
                    str(message.get("text")), untouched=message.get("untouched") is True
                )
            elif message.get("ticket") == ticket and message.get("kind") == "value":
                for position, text in dict(message.get("changed") or {}).items():
                    _change(arguments[int(position)], self.decode(text))
                same = message.get("argument")
                return arguments[same] if isinstance(same, int) else self.decode(message.get("value"))

    def answer(self, message: dict[str, Any]) -> None:
        """Carry out a call of the other side and send the result."""
        ticket = message.get("ticket")
        try:
            arguments = [self.decode(item) for item in message["arguments"]]
            named = {name: self.decode(item) for name, item in message["named"].items()}
            target = self.objects[message["number"]]
            if message["method"]:
                if message["method"].startswith("_"):
                    raise values.NotData("a private method")
                target = getattr(target, message["method"])
            result = self.around(lambda: target(*arguments, **named))
            reply: dict[str, Any] = {"kind": "value", "ticket": ticket, "changed": {}}
            same = [
                n for n, item in enumerate(arguments) if item is result and _can_change(item, networks=True)
            ]
            if same:
                reply["argument"] = same[0]
            else:
                reply["value"] = self.encode(result)
            for position, item in enumerate(arguments):
                if _can_change(item):
                    text = self.encode(item)
                    if text != message["arguments"][position]:
                        reply["changed"][str(position)] = text
            json.dumps(reply)
        except Ended:
            raise
        except answers.StudentError as error:
            reply = {"kind": "error", "ticket": ticket, "text": str(error), "untouched": error.untouched}
        except BaseException as error:
            reply = {
                "kind": "error",
                "ticket": ticket,
                "text": answers.blame(error).encode("utf-8", "replace").decode()[:2000],
                "untouched": isinstance(error, NotImplementedError) and answers.is_own_raise(error),
            }
        self.send(reply)


def _can_change(value: Any, *, networks: bool = False) -> bool:
    kinds: tuple[type, ...] = (list, dict, np.ndarray, torch.Tensor)
    return isinstance(value, (*kinds, torch.nn.Module) if networks else kinds)


def _change(value: Any, new: Any) -> None:
    """Put into a value what the other side put into its copy."""
    if type(value) is not type(new):
        return
    if isinstance(value, list):
        value[:] = new
    elif isinstance(value, dict):
        value.clear()
        value.update(new)
    elif isinstance(value, (np.ndarray, torch.Tensor)) and value.shape == new.shape:
        if isinstance(value, torch.Tensor):
            value.detach().copy_(new.detach())
        else:
            value[...] = new
