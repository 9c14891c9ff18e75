"""`gramsmith evaluate`."""

import json

import numpy as np
import pandas as pd
import pytest

import gramsmith as gs


def test_a_table_of_measures(command, table):
    done = command("evaluate", table, "-t", "y")
    assert done.status == 0, done.err
    assert "cka ↑" in done.out
    assert "fsm ↓" in done.out
    assert "Gaussian width" in done.out
    text, head, best, *others = [line for line in done.out.splitlines() if line]
    assert head.startswith("kernel")
    assert " *" in best
    assert text.startswith(f"“{best.partition('  ')[0]}” is best by")
    assert len(others) < 20
    assert others[-1].endswith("more kernels: --verbose.")
    assert len(command("evaluate", table, "-t", "y", "--verbose").out.splitlines()) > 25


def test_values_are_those_of_the_library(command, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    y = (X[:, 0] > 0).astype(int)
    np.savez(tmp_path / "a.npz", X=X, y=y)
    done = command("evaluate", tmp_path / "a.npz", "--measures", "cka,hsic", "--json")
    found = json.loads(done.out)["measures"]
    linear = next(record for record in found if record["kernel"] == "linear")
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert abs(linear["cka"] - gs.cka(gs.Linear()(Z), y)) < 1e-12
    assert set(linear) >= {"kernel", "cka", "hsic"}
    assert [r["cka"] for r in found] == sorted((r["cka"] for r in found), reverse=True)


def test_sampling_is_said(command, table):
    done = command("evaluate", table, "-t", "y", "--sample", 40, "--measures", "kta")
    assert "40 rows drawn at random" in done.err


def test_unknown_measures(command, table):
    done = command("evaluate", table, "-t", "y", "--measures", "kta,magic")
    assert done.status == 2
    assert "'magic'" in done.err


def test_strings(command, tmp_path):
    letters = np.random.default_rng(0).choice(list("ACGT"), size=(30, 9))
    rows = [f">{i}\n{''.join(row)}" for i, row in enumerate(letters)]
    (tmp_path / "s.fasta").write_text("\n".join(rows))
    labels = ["label", *(("yes", "no")[row[0] in "AC"] for row in letters)]
    (tmp_path / "l.csv").write_text("\n".join(labels))
    done = command("evaluate", tmp_path / "s.fasta", "--labels", tmp_path / "l.csv")
    assert done.status == 0, done.err
    assert "spectrum 2" in done.out


def test_many_rows_are_estimated(command, tmp_path, sizes):
    sizes("cli.evaluate", MOST_ROWS=200, DRAWN_ROWS=64)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 2))
    path = tmp_path / "many.csv"
    lines = [f"{a},{b},{'yes' if a * b > 0 else 'no'}" for a, b in X]
    path.write_text("\n".join(["a,b,y", *lines]))
    done = command("evaluate", path, "-t", "y", "--measures", "cka")
    assert done.status == 0, done.err
    assert "random draws of 64 of 1,200 samples" in " ".join((done.out + done.err).split())


@pytest.mark.parametrize("more", [(), ("--sample", 40)])
def test_weights_count(command, tmp_path, more):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(w=rng.uniform(1, 9, 60), y=X[:, 0] > 0)
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = []
    for role in ("w=weight", "w=drop"):
        done = command("evaluate", tmp_path / "t.csv", "-t", "y", "--role", role, "--json", *more)
        assert done.status == 0
        found.append(json.loads(done.out)["measures"])
    first, second = ({r["kernel"]: r["cka"] for r in records} for records in found)
    assert first.keys() == second.keys()
    assert all(first[name] != second[name] for name in first)


def test_notes_name_no_arguments_of_python(command, tmp_path):
    rng = np.random.default_rng(0)
    rows = "".join(
        f"{x:.3f},{'rare' if k % 20 == 0 else 'common'}\n"
        for k, x in enumerate(rng.normal(size=80))
    )
    (tmp_path / "rare.csv").write_text(f"x,kind\n{rows}")
    done = command("evaluate", tmp_path / "rare.csv", "-t", "kind")
    assert "prefer cka to kta" in done.err
    assert "target=" not in done.err
