"""Values as text: how a check and a student's process hand each other numbers, tensors and functions.

No pickle: what comes from a student's process is read as data alone. A function or any other object stays
where it is, and the other side gets a reference to call it by (`reasonlib.grading.remote`).

- ``{"l": [...]}``: a list; ``t`` is a tuple, ``s`` a set, ``d`` the pairs of a dictionary
- ``{"a": [type, shape, base64]}``: an array; ``T`` is a tensor, ``n`` a NumPy scalar, ``g`` a generator
- ``{"c": [module, name, fields]}``: a dataclass or a named tuple of the library
- ``{"m": [module, name, config, weights]}``: a network of the library, to the student's process only
- ``{"r": ...}``: a reference; ``{"o": n}`` is a reference of the other side's own
"""

import base64
import dataclasses
import importlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

__all__ = ["NotData", "decode", "encode"]

PACKAGE = "reasonlib."
KINDS = "biufU"  # of arrays: bool, integers, floats, text; never objects


class NotData(ValueError):
    """A value that cannot be handed over, or text that holds none."""


def encode(value: Any, refer: Callable[[Any], Any], *, networks: bool = False) -> Any:
    """Turn a value into what JSON can hold.

    Parameters
    ----------
    value
        Anything.
    refer
        Called for what is no data; returns what stands for it.
    networks
        Send networks of the library with their weights; by reference otherwise.

    Raises
    ------
    NotData
        For a value that cannot be sent, such as a number of 5,000 digits.
    """

    def inner(item: Any) -> Any:
        return encode(item, refer, networks=networks)

    if value is None or isinstance(value, (bool, float, str)):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, int):
        if value.bit_length() > 4096:
            raise NotData("a whole number with more than a thousand digits")
        return int(value)
    if value is ...:
        return {"e": 0}
    for kind, sign in ((list, "l"), (tuple, "t"), (set, "s"), (frozenset, "s")):
        if type(value) is kind:
            return {sign: [inner(item) for item in value]}
    if isinstance(value, tuple) and not type(value).__module__.startswith(PACKAGE):
        return {"t": [inner(item) for item in value]}
    if isinstance(value, Mapping):
        return {"d": [[inner(key), inner(item)] for key, item in value.items()]}
    if isinstance(value, torch.Tensor):
        return {"T": [*_array(value.detach().cpu()), bool(value.requires_grad)]}
    if isinstance(value, np.generic):
        return {"n": _array(np.asarray(value))}
    if isinstance(value, np.ndarray):
        return {"a": _array(value)}
    if isinstance(value, torch.Generator):
        return {"g": _array(value.get_state())}
    cls = type(value)
    if cls.__module__.startswith(PACKAGE):
        path = [cls.__module__, cls.__qualname__]
        if (
            networks
            and isinstance(value, nn.Module)
            and dataclasses.is_dataclass(getattr(value, "config", None))
        ):
            return {"m": [*path, inner(value.config), inner(dict(value.state_dict())), value.training]}
        if dataclasses.is_dataclass(value) or isinstance(value, tuple):
            listed: Any = value
            fields = getattr(value, "_fields", None) or [
                field.name for field in dataclasses.fields(listed) if field.init
            ]
            return {"c": [*path, {name: inner(getattr(value, name)) for name in fields}]}
    return refer(value)


def decode(text: Any, refer: Callable[[str, Any], Any], *, networks: bool = False) -> Any:
    """Turn it back into a value.

    Parameters
    ----------
    text
        As from `encode`.
    refer
        Called with ``"r"`` or ``"o"`` and what stands for an object; returns it.
    networks
        Make networks; refused otherwise.

    Raises
    ------
    NotData
        For anything else.
    """
    if text is None or isinstance(text, (bool, int, float, str)):
        return text
    if not isinstance(text, dict) or len(text) != 1:
        raise NotData("a message that holds no value")
    ((kind, content),) = text.items()

    def inner(item: Any) -> Any:
        return decode(item, refer, networks=networks)

    try:
        match kind:
            case "e":
                return ...
            case "l":
                return [inner(item) for item in content]
            case "t":
                return tuple(inner(item) for item in content)
            case "s":
                return {inner(item) for item in content}
            case "d":
                return {inner(key): inner(item) for key, item in content}
            case "a":
                return _read(content)
            case "n":
                return _read(content)[()]
            case "T":
                tensor = torch.from_numpy(_read(content[:3]))
                return tensor.requires_grad_() if content[3] and tensor.is_floating_point() else tensor
            case "g":
                generator = torch.Generator()
                generator.set_state(torch.from_numpy(_read(content)))
                return generator
            case "c":
                cls = _library_class(content[0], content[1])
                if not dataclasses.is_dataclass(cls) and not issubclass(cls, tuple):
                    raise NotData(f"{content[1]} is no dataclass")
                return cls(**{name: inner(item) for name, item in content[2].items()})
            case "m" if networks:
                model = _library_class(content[0], content[1])(inner(content[2]))
                model.load_state_dict(inner(content[3]))
                return model.train(content[4])
            case "r" | "o":
                return refer(kind, content)
    except NotData:
        raise
    except Exception as error:
        raise NotData(f"a value that cannot be read ({type(error).__name__}: {error})") from None
    raise NotData(f"a value of an unknown kind {kind!r}")


def _array(values: Any) -> list[Any]:
    array = np.asarray(values.numpy() if isinstance(values, torch.Tensor) else values)
    if array.dtype.kind not in KINDS:
        raise NotData(f"an array of {array.dtype}")
    return [
        array.dtype.str,
        list(array.shape),
        base64.b64encode(np.ascontiguousarray(array).tobytes()).decode(),
    ]


def _read(content: Any) -> np.ndarray:
    kind, shape, data = content
    dtype = np.dtype(kind)
    if dtype.kind not in KINDS:
        raise NotData(f"an array of {dtype}")
    return np.frombuffer(base64.b64decode(data), dtype).reshape(shape).copy()


def _library_class(module: str, name: str) -> Any:
    if not module.startswith(PACKAGE):
        raise NotData(f"{module}.{name} is not of this library")
    target: Any = importlib.import_module(module)
    for part in name.split("."):
        target = getattr(target, part)
    if not isinstance(target, type):
        raise NotData(f"{module}.{name} is no class")
    return target
