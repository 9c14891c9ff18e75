"""The first pieces of every campaign, and what past ones have found."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import gramsmith as gs
from fuzz import ALLOWED, calls, commands, judged, run, tables
from gramsmith.cli import run as run_command

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
    "alpha": lambda: gs.fisher_criterion(K, Y, alpha=type),
    "labels": lambda: gs.fisher_criterion(K, [None, *Y[1:]]),
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
}


@pytest.mark.parametrize("call", FOUND.values(), ids=FOUND)
def test_what_was_found(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ALLOWED) as caught:
        call()
    assert judged(caught.value) == "refused"


def test_a_folder_is_no_output(tmp_path, monkeypatch, capsys):
    commands.furnish(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert run_command(args=["export", "model.safetensors", ".", "--force"]) == 2
    assert "folder" in capsys.readouterr().err


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
