"""A kernel that a user writes in fifteen lines works wherever ours do."""

from typing import ClassVar

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.kernels import Kernel
from gramsmith.kernels.geometry import PairKernel, SquaredEuclidean


class Cauchy(PairKernel):
    """1 / (1 + |x - z|² / l²): a function of the distance, and its slope."""

    positive: ClassVar = ("length_scale",)
    geometry = SquaredEuclidean()
    scales_inputs = True

    def __init__(self, length_scale=1.0):
        self.length_scale = length_scale

    def value(self, s):
        return 1.0 / (1.0 + s)

    def slope(self, s):
        return -1.0 / (1.0 + s) ** 2


class Overlap(Kernel):
    """How much two histograms share: a tile, a diagonal and nothing else."""

    def tile(self, a, b):
        return np.minimum(a[:, None, :], b[None, :, :]).sum(axis=2)

    def diagonal(self, a):
        return a.sum(axis=1)


@pytest.fixture
def problem(rng):
    X = rng.random(size=(60, 3))
    return X, (X[:, 0] > X[:, 1]).astype(int)


@pytest.mark.parametrize("kernel", [Cauchy(0.5), Overlap(), 2.0 * Overlap() + gs.Linear()])
def test_evaluate(kernel, problem):
    X, y = problem
    table = gs.evaluate({"mine": kernel, "theirs": gs.Gaussian()}, X, y, measures=["cka"])
    assert table["mine", "cka"].value == pytest.approx(gs.cka(kernel(X), y))


def test_a_learner_climbs_value_and_slope(problem):
    X, y = problem
    learner = gs.KernelLearner(Cauchy(5.0), "cka", keep=1.0, max_iter=30).fit(X, y)
    assert learner.kernel_.length_scale < 5.0
    assert learner.value_ > gs.cka(Cauchy(5.0)(X), y)
    h = 1e-6
    ends = [gs.cka(Cauchy(learner.kernel_.length_scale + s)(X), y) for s in (-h, h)]
    assert abs(ends[1] - ends[0]) / (2 * h) < 1e-3  # the top of the hill


def test_the_part_without_a_derivative_is_named(problem):
    X, y = problem
    with pytest.raises(TypeError, match="Overlap, which has none"):
        gs.KernelLearner(gs.Gaussian() + Overlap()).fit(X, y)


def test_machines_and_ranking(problem):
    X, y = problem
    for kernel in (Cauchy(0.5), Overlap()):
        assert gs.KernelRidgeClassifier(kernel).fit(X, y).score(X, y) > 0.9
    ranking = gs.rank_kernels(X, y, kernels=[Cauchy(0.5), Overlap(), gs.Linear()])
    named = " ".join(record["kernel"] for record in ranking.records)
    assert "Cauchy" in named
    assert "Overlap" in named


class Doubled(gs.Gaussian):
    """A class with a tile of its own, made of that of the class it derives from."""

    def tile(self, a, b):
        return 2.0 * super().tile(a, b)

    def diagonal(self, a):
        return 2.0 * super().diagonal(a)


def test_sweeps_take_the_tile_of_a_derived_class(problem):
    X, _ = problem
    np.testing.assert_array_equal(gs.Gram(Doubled(), X).toarray(), 2.0 * gs.Gaussian()(X))
    assert gs.Gram(Doubled() + gs.Linear(), X) @ X[:, 0] == pytest.approx(
        (2.0 * gs.Gaussian() + gs.Linear())(X) @ X[:, 0]
    )


@pytest.mark.parametrize("base", [gs.Matern, gs.Linear, gs.Gaussian])
def test_the_tile_of_a_mixin_is_not_passed_over(base):
    class Twice:
        def tile(self, a, b):
            return 2.0 * super().tile(a, b)

        def diagonal(self, a):
            return 2.0 * super().diagonal(a)

    class Doubled(Twice, base):
        pass

    X = np.random.default_rng(0).normal(size=(30, 3))
    for kernel, plain in ((Doubled(), base()), (gs.Linear() + Doubled(), None)):
        K = kernel(X)
        np.testing.assert_allclose(gs.Gram(kernel, X).toarray(), K, rtol=1e-12)
        if plain is not None:
            np.testing.assert_allclose(K, 2.0 * plain(X), rtol=1e-12)
