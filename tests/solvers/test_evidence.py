"""Posterior and gains against the evidence itself, action by action."""

import numpy as np
import pytest

import textbook_learning as textbook
from gramsmith.solvers import evidence
from gramsmith.solvers.evidence import Basis
from gramsmith.solvers.gaussian_evidence import GaussianModel


def regression(rng, n=40):
    x = np.sort(rng.uniform(-5, 5, size=n))
    Phi = np.exp(-(np.subtract.outer(x, x) ** 2) / 2)
    return Phi, np.sinc(x / 2) + 0.1 * rng.normal(size=n)


def whole(model, post):
    """The log evidence of a state by the dense definition."""
    alpha = np.full(model.basis.Phi.shape[1], np.inf)
    alpha[post.active] = post.alpha
    return textbook.rvm_log_evidence(model.basis.Phi, model.t, alpha, model.beta)


def test_gains_and_rank_one_updates_are_exact(rng):
    Phi, t = regression(rng)
    model = GaussianModel(Basis(Phi, np.ones(len(t))), t)
    post = model.posterior([], np.empty(0))
    kinds = set()
    for step in range(40):
        best, gain = post.actions()
        # The largest gains first, then any action at all, so that deletions come up too.
        i = int(np.argmax(gain)) if step % 3 else int(rng.choice(np.flatnonzero(gain > 1e-9)))
        kinds.add(
            "add" if i not in post.active else "delete" if np.isinf(best[i]) else "reestimate"
        )
        before = whole(model, post)
        post.act(i, float(best[i]), model.column)
        assert whole(model, post) - before == pytest.approx(gain[i] / 2, rel=1e-5, abs=1e-7)
        afresh = model.posterior(post.active, post.alpha)
        for name in ("S", "Q", "mean", "covariance"):
            scale = np.abs(getattr(afresh, name)).max()
            np.testing.assert_allclose(
                getattr(post, name), getattr(afresh, name), atol=1e-6 * scale, rtol=1e-5
            )
    assert kinds == {"add", "delete", "reestimate"}


def test_best_precision_is_the_maximum(rng):
    Phi, t = regression(rng)
    model = GaussianModel(Basis(Phi, np.ones(len(t))), t)
    post = model.posterior([3, 20], np.array([1.0, 5.0]))
    best, _ = post.actions()
    for k, i in enumerate(post.active):
        if np.isinf(best[i]):
            continue
        values = []
        for factor in (0.9, 1.0, 1.1):
            alpha = post.alpha.copy()
            alpha[k] = factor * best[i]
            values.append(whole(model, model.posterior(post.active, alpha)))
        assert values[1] > max(values[0], values[2])


def test_limits_of_the_precisions():
    assert 0 < evidence.ALPHA_MIN < 1 < evidence.ALPHA_MAX
