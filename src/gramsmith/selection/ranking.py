"""KernelRanking: kernels from best to worst, with the evidence, in words, tables and pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramsmith.selection.search import Search


class KernelRanking:
    """The outcome of `rank_kernels`."""

    def __init__(self, hunt: Search, model: Any, feature_names: Any = None) -> None:
        self.hunt = hunt
        self.best_estimator = model
        self.feature_names = feature_names

    @property
    def best_kernel(self) -> Any:
        return self.hunt.candidates[self.hunt.order[0]].kernel
