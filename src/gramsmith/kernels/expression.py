"""What kernels made of other kernels share: one way back through their parts."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from gramsmith.kernels.base import Array, Gradient, Kernel, Pullback
from gramsmith.kernels.embedding import Embedding


class Expression(Kernel):
    """A kernel made of others, whose derivatives go through them.

    Subclasses give `through`; whether derivatives by the samples are wanted too decides only which
    pullback of the parts is called.
    """

    def through(
        self,
        pullback: Callable[[Kernel], Pullback],
        a: Embedding,
        b: Embedding,
        W: Array,
        K: Array | None,
    ) -> tuple[Embedding, Embedding, Gradient]:
        """Return what `tile_vjp` does; ``pullback(part)`` is what to call of a part."""
        raise self._no_derivative()

    def tile_vjp(
        self, a: Embedding, b: Embedding, W: Array, K: Array | None = None
    ) -> tuple[Embedding, Embedding, Gradient]:
        return self.through(attrgetter("tile_vjp"), a, b, W, K)

    def parameter_vjp(
        self, a: Embedding, b: Embedding, W: Array, K: Array | None = None
    ) -> tuple[Embedding, Embedding, Gradient]:
        return self.through(attrgetter("parameter_vjp"), a, b, W, K)
