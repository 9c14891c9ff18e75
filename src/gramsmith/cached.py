"""Properties that are computed once, without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class cached_property(Generic[Value]):
    """A property that is computed when it is first asked for.

    That of Python 3.11 has one lock for all objects of a class: threads wait for each other, and in
    a child forked meanwhile nobody is left to release it. Here two threads that ask at the same
    time compute the same value twice.

    Examples
    --------
    >>> from gramsmith.cached import cached_property
    >>> class Square:
    ...     side = 3.0
    ...
    ...     @cached_property
    ...     def area(self):
    ...         print("once")
    ...         return self.side**2
    >>> square = Square()
    >>> square.area, square.area
    once
    (9.0, 9.0)
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[Value]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> Any:
        if instance is None:
            return self
        # What stands in the object comes before a property without __set__: this is not asked again
        return instance.__dict__.setdefault(self.name, self.function(instance))
