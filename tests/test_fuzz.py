"""The first pieces of every campaign, and what past ones have found."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import gramsmith as gs
from gramsmith.cli import run as run_command
from tools.fuzz import ALLOWED, calls, commands, judged, run, tables

X, Y, K = calls.X, calls.Y, calls.K


@pytest.mark.parametrize(
    ("campaign", "count"),
    [(calls, 150), (tables, 150), (commands, 40)],
    ids=["calls", "tables", "commands"],
)
def test_the_first_pieces(campaign, count):
    table, defects = run(campaign.piece, seed=0, seconds=600, most=count)
    assert not defects, "\n".join(defects)
    assert sum(table.values()) == count
    assert len({found for _, found in table}) > 1  # some are refused, some are not


# Each of these left the library in the words of others.
FOUND = {
    "landmarks": lambda: gs.Nystroem(gs.Gaussian(), n_landmarks=type)(X),
    "no landmarks": lambda: gs.Nystroem(gs.Gaussian(), landmarks=object())(X),
    "a part that is none": lambda: gs.Nystroem(3)(X),
    "features": lambda: gs.RandomFourier(gs.Gaussian(), n_features=np.inf)(X),
    "a seed": lambda: gs.RandomFourier(gs.Gaussian(), random_state="auto")(X),
    "no function": lambda: gs.RankOne(3.0)(X),
    "text in B": lambda: gs.Bilinear("precomputed")(X),
    "weights": lambda: gs.AllSubsets(weights=3)([{1}, {2}]),
    "an array as a word": lambda: gs.AllSubsets(output=X)([{1}, {2}]),
    "nu": lambda: gs.Matern(nu=X)(X),
    "norm": lambda: gs.Laplacian(norm=X)(X),
    "combine": lambda: gs.Mixed(combine=X)(X),
    "kind": lambda: gs.Subtree(kind=X)(["(a b)"]),
    "unknown": lambda: gs.Mismatch(unknown=X)(["ab"]),
    "alphabet": lambda: gs.Spectrum(2, alphabet=[[1], [2]])(["ab"]),
    "an alphabet that is none": lambda: gs.Spectrum(2, alphabet=3)(["ab"]),
    "target": lambda: gs.cka(K, Y, target=X),
    "task": lambda: gs.cka(K, Y, task=pl.Series([1, 2])),
    "ddof": lambda: gs.fsm_error_bound(K, Y, ddof=X),
    "bound": lambda: gs.parzen_error_bound(K, Y, target=X),
    "lists in y": lambda: gs.cka(K, [[1], *Y[1:]]),
    "measure": lambda: gs.alignment_scorer([]),
    "dtype": lambda: gs.evaluate("rbf", X, Y, dtype="cka"),
    "folds": lambda: gs.evaluate("rbf", X, Y, folds=np.inf),
    "bandwidths": lambda: gs.bandwidth_path(X, Y, n_bandwidths="accuracy"),
    "widest": lambda: gs.bandwidth_path(X, Y, widest=object()),
    "tolerance": lambda: gs.estimate("rbf", X, Y, tolerance=object()),
    "rows": lambda: gs.estimate("rbf", X, Y, rows=np.datetime64("2020-01-01")),
    "alpha": lambda: gs.KernelFisherDiscriminant(alpha=type).fit(X, Y),
    "labels": lambda: gs.csm(K, [None, *Y[1:]]),
    "alphas": lambda: gs.KernelLogisticRegression(alphas=b"bytes").fit(X, Y),
    "penalties": lambda: gs.penalty_path(X, Y, penalties=b"bytes"),
    "a learner": lambda: gs.penalty_path(X, Y, learner={}),
    "psd": lambda: gs.check_kernel_matrix(K, psd=X),
    "about": lambda: gs.save_model(gs.Gaussian(), "x.safetensors", about=X),
    "a frame of text": lambda: gs.KernelCenterer().fit(pd.DataFrame({"a": ["CCC", "AAA"]})),
    "text for a machine": lambda: gs.KernelRidgeClassifier().fit(
        pd.DataFrame({"a": X[:, 0], "b": "word"}), Y
    ),
    "rows of several lengths": lambda: gs.Gaussian()([[1.0, 2.0], [3.0]]),
    "a number past all floats": lambda: gs.Tanimoto()([[1, 2], [10**400, 3]]),
    "a journal": lambda: gs.Journal("\0"),
    "a frame for a flag of a journal": lambda: gs.Journal("j", fresh=pd.DataFrame({"a": [1, 2]})),
    "ragged y of a selector": lambda: gs.KernelSelector().fit(X, [[1], *Y[1:]]),
    "ragged groups of a selector": lambda: gs.KernelSelector().fit(X, Y, groups=[[1], *Y[1:]]),
    "ragged groups of a learner": lambda: gs.KernelLearner().fit(X, Y, groups=[[1], *Y[1:]]),
    "groups of no order": lambda: gs.SpectralAligner().fit(X, Y, groups=["a", None, *Y[2:]]),
    "groups of several columns": lambda: gs.KernelLearner().fit(X, Y, groups=X),
    "groups past all floats": lambda: gs.KernelSelector().fit(X, Y, groups=[10**400, *X[1:, 0]]),
    "labels past all floats": lambda: gs.KernelSVC().fit(X, [10**400, *Y[1:]]),
    "measures of a path": lambda: gs.bandwidth_path(X, Y, len),
    "measures": lambda: gs.evaluate("rbf", X, Y, measures=True),
    "an array as a measure": lambda: gs.evaluate("rbf", X, Y).best(X),
    "a slice as samples": lambda: gs.evaluate("rbf", slice(3), Y),
    "a number as samples": lambda: gs.estimate("rbf", 2**63, Y),
    "no kernel values": lambda: gs.evaluate("precomputed", X, Y),
    "weights of a score": lambda: gs.KernelSVC().fit(X, Y).score(X, Y, Y - Y.mean()),
    "text as weights of a score": lambda: (
        gs.KernelSVC().fit(X, Y).score(X, Y, pl.Series(["a"] * len(X)))
    ),
    "weights of a selector's score": lambda: (
        gs.KernelSelector([gs.Linear()], cv=2).fit(X, X[:, 0]).score(X, Y, Y - Y.mean())
    ),
    "targets of a score": lambda: (
        gs.KernelRidgeRegressor().fit(X, Y).score(X, [10**400, *X[1:, 0]])
    ),
    "one column past all floats": lambda: gs.Chi2()([10**400, *X[1:, 0]]),
    "a column of text": lambda: gs.CentroidClassifier().fit(pd.Series(["a"] * len(X)), Y),
    "a column of text of polars": lambda: gs.Gaussian()(pl.Series(["a"] * len(X))),
    "ragged rows of a kernel matrix": lambda: gs.nearest_psd([[1.0, 2.0], [3.0]]),
    "rows of a file": lambda: gs.save_model(gs.Gaussian(), "x.safetensors", rows=X),
    "a place for a file": lambda: gs.save_model(gs.Gaussian(), "\0"),
    "debiased": lambda: gs.cka(K, Y, debiased=X),
    "leave_one_out": lambda: gs.fsm(K, Y, leave_one_out=X),
    "normalized": lambda: gs.csm(K, Y, normalized=pd.DataFrame(X)),
    "unbiased": lambda: gs.hsic(K, Y, unbiased=np.empty(0)),
    "positive_definite": lambda: gs.parzen_error_bound(K, Y, positive_definite=X),
    "labels of two columns": lambda: gs.KernelFisherDiscriminant().fit(X, np.c_[Y, Y]),
    "alpha past all floats": lambda: gs.KernelFisherDiscriminant(alpha=10**400).fit(X, Y),
    "a tolerance past all floats": lambda: gs.KernelSVC(tol=10**400).fit(X, Y),
    "a number of thousands of digits": lambda: gs.Gaussian(10**5000)(X),
    "bytes as a splitter": lambda: gs.TwoGaussianLearner(cv=b"x").fit(X, Y),
    "an array as a length": lambda: gs.WeightedDegree(degree=np.ones((200, 200)))(["ab"]),
    "sets and rows": lambda: gs.AllSubsets()(X, [{1}, {2}]),
    "rows of other columns": lambda: gs.AllSubsets()(X, X[:, :2]),
    "texts and sparse rows": lambda: gs.Constant()(sp.coo_array(X), np.array(["a", "b"])),
    "a fraction": lambda: gs.Periodic(Fraction(1, 3))(X),
    "a fraction in theta": lambda: gs.Chi2(Fraction(1, 3)).clone_with_theta([0.0]),
    "theta": lambda: gs.Gaussian().clone_with_theta(slice(3)),
    "a term past all floats": lambda: gs.Gaussian() + 10**400,
    "a function that returns text": lambda: gs.RankOne(lambda X: "text")(X),
    "text as a value to keep": lambda: gs.as_kernel(lambda a, b: "text", cache="pairs")(X),
    "nothing as a value to keep": lambda: gs.as_kernel(lambda a, b: None, cache="pairs")(X),
    "return_std": lambda: gs.RelevanceVectorRegressor().fit(X, X[:, 0]).predict(X, X),
    "ragged rows of a constant": lambda: gs.Constant()([[1.0, 2.0], [3.0]], X),
    "a function as samples": lambda: gs.as_kernel(lambda A, B: A @ B.T, len)(len),
    "times that are lists": lambda: gs.KernelSelector().fit(X, Y, time_order=[[1.0, 2.0], [3.0]]),
    "others beside batches": lambda: gs.compare_representations(iter([{"a": X}]), others=len),
    "no weights": lambda: gs.fsm_error_bound(K, Y[:0], sample_weight=Y[:0]),
    "an array as folds": lambda: gs.evaluate("rbf", X, Y, folds=X[:, 0]),
    "radius": lambda: gs.L2SVC(radius=X).fit(X, Y),
    "text of a path": lambda: gs.penalty_path(pd.DataFrame({"a": X[:, 0], "b": "word"}), Y),
    "places of a block": lambda: gs.Gram("rbf", X).block(X[:, 0], X[:, 0]),
    "ragged widths": lambda: gs.GaussianOf(gs.Linear(), [[1.0, 2.0], [3.0]])(X),
    "ragged constants": lambda: gs.Polynomial(2, 1.0, [[1.0, 2.0], [3.0]])(X),
    "ragged blocks": lambda: gs.Mixed(blocks=[[0, 1], [2]])(X),
    "lists in the cells of lists": lambda: gs.Gaussian()([[1.0, [2.0, 3.0]], [3.0, 4.0]]),
    "a vector as a kernel matrix": lambda: gs.estimate("precomputed", X[:, 0], Y),
    "texts as a kernel matrix": lambda: gs.evaluate("precomputed", calls.TEXTS, Y),
    "an array as a kernel of a table": lambda: gs.evaluate("rbf", X, Y)[X, "cka"],
    "a key of a table": lambda: gs.evaluate("rbf", X, Y)["rbf"],
    "an array as a picture": lambda: gs.rank_kernels(X, Y, ["rbf"], cv=2).plot(X),
    "a callback that returns an array": lambda: gs.KernelLearner(callback=lambda numbers: X).fit(
        X, Y
    ),
    "records as trees": lambda: gs.Subtree()(np.zeros(3, dtype=[("a", float), ("b", int)])),
    "a class as a kernel": lambda: gs.as_kernel(gs.Gaussian)(X),
    "no features for a width": lambda: gs.as_kernel("rbf", X[:, :0]),
    "no views": lambda: gs.KernelSelector().fit((), Y),
    "weights beside folds": lambda: gs.KernelLearner(cv=[(ROWS[:12], ROWS[12:])]).fit(
        X, Y, sample_weight={}
    ),
    "places past the end": lambda: gs.Gram("rbf", X).block(np.array([99]), slice(None)),
}


@pytest.mark.parametrize("call", FOUND.values(), ids=FOUND)
def test_what_was_found(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ALLOWED) as caught:
        call()
    assert judged(caught.value) == "refused"


@pytest.mark.parametrize(
    "call",
    [
        lambda: gs.KernelRidgeClassifier(alphas=K).fit(X, Y),
        lambda: gs.KernelLearner(cv=[(K, K)] * 9).fit(X, Y),
        lambda: gs.rank_kernels(pd.DataFrame(X, columns=list("abc")), Y, roles={"a": K}),
        lambda: gs.RandomFourier(gs.Gaussian(), n_features=K)(X),
    ],
    ids=["alphas", "folds", "roles", "features"],
)
def test_a_refusal_is_short(call):
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    assert judged(caught.value) == "refused"
    assert len(str(caught.value)) < 1000


ROWS = np.arange(len(X))
FOLDS = {
    "kernel values": [(K, K)],
    "numbers with a fraction": [(ROWS[:12] + 0.5, ROWS[12:])],
    "rows past the end": [(ROWS[:12], ROWS[12:] + 1)],
    "texts": [("a", "b")],
    "one number with no axes": np.array(3.0),
    "three parts": [(ROWS[:8], ROWS[8:16], ROWS[16:])],
    "numbers": [1, 2],
    "ragged rows": [([1, [2]], [3])],
    "no rows to judge on": [(ROWS, ROWS[:0])],
    "rows on both sides": [(ROWS[:13], ROWS[12:])],
}


@pytest.mark.parametrize("cv", FOLDS.values(), ids=FOLDS)
@pytest.mark.parametrize(
    "use",
    [
        lambda cv: gs.KernelLearner(cv=cv).fit(X, Y),
        lambda cv: gs.rank_kernels(X, Y, [gs.Gaussian(), gs.Linear()], cv=cv),
    ],
    ids=["learner", "ranking"],
)
def test_folds_are_looked_at(use, cv):
    with pytest.raises(ValueError, match=r"Expected .* fold"):
        use(cv)


def test_folds_of_truth_values_and_from_the_end():
    numbers = [(ROWS[:12], ROWS[12:]), (ROWS[12:], ROWS[:12])]
    masks = [(ROWS < 12, ROWS >= 12), (ROWS >= 12, ROWS < 12)]
    ends = [(ROWS[:12], ROWS[12:] - len(X)), (ROWS[12:] - len(X), ROWS[:12])]
    kernels = [gs.Gaussian(), gs.Linear()]
    found = [gs.rank_kernels(X, Y, kernels, cv=cv) for cv in (numbers, masks, ends)]
    assert str(found[0]) == str(found[1]) == str(found[2])
    learned = [gs.KernelLearner(cv=cv).fit(X, Y) for cv in (numbers, masks, ends)]
    for other in learned[1:]:
        for name, curve in learned[0].keep_curve_.items():
            np.testing.assert_array_equal(other.keep_curve_[name], curve)


def test_what_was_refused_and_is_sound():
    assert gs.Serial(memory=np.float16(2)).budget == 2 << 20
    dates = np.datetime64("2020-01-01") + np.arange(len(X)) // 4
    ranking = gs.rank_kernels(X, Y, {"a": gs.Gaussian()}, groups=dates, cv=2)
    assert "a" in str(ranking)


def test_a_folder_is_no_output(tmp_path, monkeypatch, capsys):
    commands.furnish(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert run_command(args=["export", "model.safetensors", ".", "--force"]) == 2
    assert "folder" in capsys.readouterr().err


def test_lost_files_are_seen(tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    args = ["inspect", "model.safetensors"]
    assert commands.outcome(args, tmp_path / "work") == "status 0"
    for path in ("train.csv", "../beside.csv"):
        monkeypatch.setattr(commands, "run", lambda args, path=path: Path(path).unlink() or 0)
        assert commands.outcome(args, tmp_path / "work").startswith("! files that were there")


def test_defects_are_seen():
    def fails(error):
        try:
            raise error
        except Exception as caught:
            return judged(caught)

    assert fails(KeyError("x")).startswith("! KeyError")
    assert fails(ZeroDivisionError()).startswith("! ZeroDivisionError")
    with pytest.raises(ValueError, match="convert") as caught:
        pd.DataFrame({"a": ["x"]}).astype(float)
    assert judged(caught.value).startswith("! words of others")
