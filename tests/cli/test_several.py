"""Several targets on the command line: rank, predict and inspect."""

import json

import numpy as np
import pandas as pd
import pytest

import gramsmith as gs

RNG = np.random.default_rng(5)
X = RNG.normal(size=(90, 3))


@pytest.fixture
def several(tmp_path):
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["angle"], table["force"] = np.sin(X[:, 0]), X[:, 1] * X[:, 2]
    table["up"], table["right"] = (X[:, 0] > 0).astype(int), X[:, 1] > 0.5
    table["word"] = "x"
    table["gap"] = np.where(np.arange(90) == 7, np.nan, X[:, 2])
    table.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


OTHERS = ("--drop", "word", "--drop", "gap")


def test_outputs_from_a_file_to_predictions(command, several, tmp_path):
    folder = tmp_path / "run"
    aside = ("--drop", "up", "--drop", "right", *OTHERS)
    done = command("rank", several, "-t", "angle", "-t", "force", "-o", folder, *aside)
    assert done.status == 0, done.err
    assert "regression (2 outputs)" in done.err
    assert "on average over 2 outputs" in done.out
    assert "“angle” and “force”" in (folder / "report.html").read_text()
    record = json.loads((folder / "ranking.json").read_text())
    assert [t["name"] for t in record["evidence"]["outcome"]["targets"]] == ["angle", "force"]
    model = folder / "model.safetensors"
    found = command("predict", model, several, "--interval", "0.8").out.splitlines()
    assert found[0] == (
        "row,prediction of angle,prediction of force,low of angle,high of angle,"
        "low of force,high of force"
    )
    values = [float(cell) for cell in found[1].split(",")]
    assert values[3] < values[1] < values[4]
    assert values[5] < values[2] < values[6]
    fitted = gs.load_model(model)
    expected = fitted.predict(pd.read_csv(several)[["a", "b", "c"]])[0]
    np.testing.assert_allclose(values[1:3], expected)
    assert "2 outputs: angle, force" in command("inspect", model).out
    gs.save_model(fitted, tmp_path / "bare.safetensors")
    found = command("predict", tmp_path / "bare.safetensors", several).out.splitlines()
    assert found[0] == "row,prediction of 1,prediction of 2"


def test_labels_from_a_file_to_predictions(command, several, tmp_path):
    folder = tmp_path / "run"
    aside = ("--drop", "angle", "--drop", "force", *OTHERS)
    done = command("rank", several, "-t", "up", "-t", "right", "-o", folder, *aside)
    assert done.status == 0, done.err
    assert "2 labels of 0 and 1" in done.err
    model = folder / "model.safetensors"
    found = command("predict", model, several, "--proba").out.splitlines()
    assert found[0] == (
        "row,prediction of up,prediction of right,probability of up,probability of right"
    )
    rows = np.array([line.split(",") for line in found[1:]], dtype=float)
    assert np.mean(rows[:, 1] == (X[:, 0] > 0)) > 0.9
    assert np.mean((rows[:, 3:] > 0.5) == rows[:, 1:3]) > 0.95
    assert "2 labels at once: up, right" in command("inspect", model).out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-t", "angle", "-t", "nothing"], "no column 'nothing'"),
        (["-t", "angle", "-t", "word"], "expected a finite number"),
        (["-t", "angle", "-t", "up"], "looks like classes"),
        (["-t", "angle", "-t", "gap"], "got a missing one"),
        (["-t", "angle", "-t", "force", "--task", "classification"], "labels of 0 and 1"),
    ],
)
def test_bad_targets_are_refused(command, several, arguments, message):
    done = command("rank", several, *arguments)
    assert done.status not in (0, 1)
    assert message in done.err


@pytest.mark.parametrize("targets", [("flag", "other"), ("other", "flag"), ("flag", "third")])
def test_flags_are_labels_in_any_order(command, targets, tmp_path):
    rows = [f"{i}.5,{i % 2},{i % 3 == 0},{i % 5 < 2}" for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["a,other,flag,third", *rows]))
    options = [word for name in targets for word in ("-t", name)]
    done = command("rank", tmp_path / "t.csv", *options, "--dry-run")
    assert done.status == 0, done.err
    assert "2 labels of 0 and 1" in done.out + done.err
