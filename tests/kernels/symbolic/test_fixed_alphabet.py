"""A fitted kernel does not depend on the other samples of a batch, whatever it reads from data."""

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.storage import load_model, save_model

STRINGS = ["ACGTACGT", "ACCTTCGA", "GGTTACGA", "CCGTAGGT", "TTGACGTA", "ACGTTTGA", "GATTACAA"]
STRINGS += [s[::-1] for s in STRINGS]
Y = np.array([0.3, -1.2, 2.0, 0.1, -0.7, 1.1, 0.6] * 2) + np.arange(14)
NEW, STRANGE = ["ACGGACGT", "TTTTACGC"], ["XYZNNNQQ", "ACGXACGT"]
KERNELS = {
    "mismatch": gs.Mismatch(3, 1),
    "mismatch lower": gs.Mismatch(4, 2, case="lower"),
    "normalised": gs.Normalized(gs.Mismatch(3, 1)),
    "sum": 0.5 * gs.Spectrum(2) + gs.Mismatch(3, 1),
    "mapped": gs.Mismatch(3, 1) @ gs.FunctionMap(lambda X: [s[::-1] for s in X]),
    "spectrum": gs.Spectrum(3),
    "substrings": gs.AllSubstrings(),
    "subsequence": gs.Subsequence(2),
    "weighted degree": gs.WeightedDegree(3),
}


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_prediction_does_not_depend_on_its_neighbours(kernel):
    machine = gs.KernelRidgeRegressor(KERNELS[kernel], alpha=0.1).fit(STRINGS, Y)
    alone = np.concatenate([machine.predict([s]) for s in NEW])
    np.testing.assert_allclose(machine.predict(NEW + STRANGE)[:2], alone, rtol=1e-10)
    strange = np.concatenate([machine.predict([s]) for s in STRANGE])
    np.testing.assert_allclose(machine.predict(NEW + STRANGE)[2:], strange, rtol=1e-10)


@pytest.mark.parametrize(
    "learner",
    [
        gs.SpectralAligner(gs.Mismatch(3, 1)),
        gs.KernelCombination([gs.Mismatch(3, 1), gs.Spectrum(2)]),
        gs.KernelLearner(gs.Mismatch(3, 1) + 0.3 * gs.Spectrum(2), max_iter=5),
    ],
    ids=lambda learner: type(learner).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_is_learned_is_fixed_too(learner):
    kernel = learner.fit(STRINGS, Y).kernel_
    alone = kernel(NEW, STRINGS)
    np.testing.assert_allclose(kernel(NEW + STRANGE, STRINGS)[:2], alone, rtol=1e-10)


def test_unseen_symbols_match_nothing():
    kernel = gs.Mismatch(3, 1).fixed_to(STRINGS)
    assert (kernel.alphabet, kernel.unknown) == ("ACGT", "gap")
    stated = gs.Mismatch(3, 1, "ACGT")
    np.testing.assert_allclose(kernel(NEW, STRINGS), stated(NEW, STRINGS))
    # of ACGXACGT only ACG, ACG and CGT have no X
    parts = stated(["ACG", "CGT"], STRINGS)
    np.testing.assert_allclose(kernel(["ACGXACGT"], STRINGS), [2.0 * parts[0] + parts[1]])
    assert not kernel(["XYZNNNQQ"], STRINGS).any()


def test_a_stated_alphabet_stays():
    kernel = gs.Mismatch(3, 1, "ACGTN")
    assert kernel.fixed_to(STRINGS) is kernel
    assert gs.Mismatch(3, 1).fixed_to(["", ""]).alphabet is None
    machine = gs.KernelRidgeRegressor(kernel, alpha=0.1).fit(STRINGS, Y)
    with pytest.raises(ValueError, match="got 'X' at position 0"):
        machine.predict(["XYZ"])


@pytest.mark.parametrize("tokens", [False, True])
def test_the_alphabet_is_stored(tokens, tmp_path):
    X, new = STRINGS, NEW + STRANGE
    if tokens:
        X, new = ([[f"<{c}>" for c in s] for s in strings] for strings in (X, new))
    machine = gs.KernelRidgeRegressor(gs.Mismatch(3, 1), alpha=0.1).fit(X, Y)
    save_model(machine, tmp_path / "model")
    found = load_model(tmp_path / "model")
    assert len(found.kernel_.alphabet) == 4
    np.testing.assert_allclose(found.predict(new[:1]), machine.predict(new)[:1], rtol=1e-12)
