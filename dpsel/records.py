"""Records: frozen dataclasses that are cheap to define.

`dataclass(frozen=True)` compiles six methods for each class, which takes 0.4 ms. For the 80 classes
of a run on a small table, that was a seventh of the run's time. `frozen` compiles only `__init__`;
the other five methods behave like those of a frozen dataclass and are shared by all records.
"""

from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform, overload

Class = TypeVar("Class", bound=type)


@overload
def frozen(cls: Class) -> Class: ...


@overload
def frozen(*, kw_only: bool) -> Callable[[Class], Class]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: Any = None, *, kw_only: bool = False) -> Any:
    """Make a class a frozen dataclass: `@frozen`, or `@frozen(kw_only=True)`."""

    def made(cls: Any) -> Any:
        for name, method in _METHODS.items():
            if name not in vars(cls):
                setattr(cls, name, method)
        # Not `frozen=True`, which would compile two more methods: `_set_once` is as strict.
        return dataclass(eq=False, repr=False, kw_only=kw_only)(cls)

    return made if cls is None else made(cls)


def _set_once(self: Any, name: str, value: Any) -> None:
    """Set a field that has no value yet, as `__init__` does; refuse any later change."""
    if name in vars(self) or name not in self.__dataclass_fields__:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _never_deleted(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _equal(self: Any, other: object) -> bool:
    return _compared(self) == _compared(other) if type(other) is type(self) else NotImplemented


def _hashed(self: Any) -> int:
    return hash(_compared(self))


def _compared(record: Any) -> tuple[Any, ...]:
    return tuple(getattr(record, about.name) for about in fields(record) if about.compare)


def _shown(self: Any) -> str:
    shown = (f"{about.name}={getattr(self, about.name)!r}" for about in fields(self) if about.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


_METHODS = {
    "__setattr__": _set_once,
    "__delattr__": _never_deleted,
    "__eq__": _equal,
    "__hash__": _hashed,
    "__repr__": _shown,
}
