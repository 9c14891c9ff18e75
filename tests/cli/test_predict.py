"""`gramsmith predict`: columns by name, rows by number."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

import gramsmith as gs
from gramsmith.cli import predict
from gramsmith.machines.svm import KernelSVC
from gramsmith.selection import ModelPipeline, threshold_table
from gramsmith.storage import inspect_model
from gramsmith.tables import TableEncoder
from gramsmith.tables.read import read_table
from tools.tables_text import table_text


@pytest.fixture
def model(tmp_path, table):
    """A model of the table, as `rank` stores it."""
    from sklearn.pipeline import make_pipeline

    data = read_table(table, target="y")
    trained = make_pipeline(TableEncoder(), KernelSVC(gs.Gaussian(1.0), C=10.0)).fit(
        data.inputs(), data.labels.astype(str)
    )
    about = {
        "kind": "table",
        "target": "y",
        "columns": [
            {"name": name, "kind": "text" if column.dtype == object else "number"}
            for name, column in data.columns.items()
        ],
        "ignored": ["id"],
    }
    path = tmp_path / "model.safetensors"
    gs.save_model(trained, path, about=about)
    return path


def answers(text):
    return [row["prediction"] for row in csv.DictReader(text.splitlines())]


def test_predictions_to_the_output_and_to_a_file(command, model, table, tmp_path):
    done = command("predict", model, table)
    assert done.status == 0, done.err
    found = answers(done.out)
    frame = [line.split(",") for line in table.read_text().splitlines()[1:]]
    assert np.mean([p == row[3] for p, row in zip(found, frame, strict=True)]) > 0.9
    out = tmp_path / "pred.csv"
    done = command("predict", model, table, "-o", out)
    assert done.out == ""
    assert answers(out.read_text()) == found
    assert command("predict", model, table, "-o", out).status == 2
    assert command("predict", model, table, "-o", out, "--force").status == 0
    listed = json.loads(command("predict", model, table, "--json").out)
    assert [item["prediction"] for item in listed] == found
    assert listed[0]["row"] == 1


def test_probabilities_on_request(command, model, table):
    refused = command("predict", model, table, "--proba")
    assert refused.status == 2
    assert "has no probabilities" in refused.err
    trained = gs.load_model(model)
    data = read_table(table, target="y")
    trained[-1].calibrate(trained.decision_function(data.inputs()), data.labels.astype(str))
    gs.save_model(trained, model, about=inspect_model(model).about)
    listed = json.loads(command("predict", model, table, "--json", "--proba").out)
    for item in listed:
        shares = {k: v for k, v in item.items() if k.startswith("probability of ")}
        assert sum(shares.values()) == pytest.approx(1.0)
        assert len(shares) == 2
    best = [max(item, key=lambda k: item[k] if "prob" in k else -1.0) for item in listed]
    agreed = [b == f"probability of {i['prediction']}" for b, i in zip(best, listed, strict=True)]
    assert np.mean(agreed) > 0.9


def test_intervals_on_request(command, model, table):
    refused = command("predict", model, table, "--interval", "0.9")
    assert refused.status == 2
    assert "has no prediction intervals" in refused.err
    data = read_table(table, target="y")
    values = np.linspace(0.0, 1.0, data.n_rows)
    encoder = TableEncoder().fit(data.inputs())
    machine = gs.KernelSVR(gs.Gaussian(1.0)).fit(encoder.transform(data.inputs()), values)
    machine.calibrate_intervals(np.linspace(0.0, 1.0, 20))
    trained = ModelPipeline([("encode", encoder), ("model", machine)])
    gs.save_model(trained, model, about=inspect_model(model).about)
    listed = json.loads(command("predict", model, table, "--json", "--interval", "0.5").out)
    width = [item["high"] - item["low"] for item in listed]
    assert width == pytest.approx([20 / 19] * len(listed))
    assert all(item["low"] < item["prediction"] < item["high"] for item in listed)
    assert command("predict", model, table, "--interval", "1").status == 2


def test_sets_on_request(command, model, table):
    refused = command("predict", model, table, "--sets", "0.9")
    assert refused.status == 2
    assert "has no prediction sets" in refused.err
    trained = ModelPipeline(gs.load_model(model).steps)
    data = read_table(table, target="y")
    labels = data.labels.astype(str)
    trained[-1].calibrate_sets(trained.decision_function(data.inputs()), labels)
    gs.save_model(trained, model, about=inspect_model(model).about)
    listed = json.loads(command("predict", model, table, "--json", "--sets", "0.8").out)
    inside = [b in item["set"].split("|") for item, b in zip(listed, labels, strict=True)]
    assert np.mean(inside) >= 0.8
    assert {len(item["set"].split("|")) for item in listed} <= {1, 2}
    listed = json.loads(command("predict", model, table, "--json", "--sets", "0.1").out)
    assert "" in {item["set"] for item in listed}  # no class is probable enough
    few = command("predict", model, table, "--sets", "0.999")
    assert "Note: In every set" in few.err
    assert command("predict", model, table, "--sets", "1").status == 2


def test_rows_unlike_those_of_training_are_named(command, model, table, tmp_path):
    trained = ModelPipeline(gs.load_model(model).steps)
    data = read_table(table, target="y")
    trained[-1].calibrate_novelty(trained._encoded(data.inputs()))
    gs.save_model(trained, model, about=inspect_model(model).about)
    plain = command("predict", model, table)
    assert "Outside" not in plain.err
    lines = table.read_text().splitlines()
    names = lines[0].split(",")
    cells = lines[3].split(",")
    cells[names.index("a")] = "500"
    odd = tmp_path / "odd.csv"
    odd.write_text("\n".join([*lines[:3], ",".join(cells), *lines[4:]]))
    found = command("predict", model, odd)
    assert found.status == 0
    assert "Note: Outside the range of the training rows: 'a' in 1 row (row 3)." in found.err
    assert "more isolated than 99 % of the training rows" in found.err


def reordered(text, order):
    rows = [line.split(",") for line in text.splitlines()]
    return "\n".join(",".join(row[i] for i in order) for row in rows)


def test_reordered_columns_are_fixed_by_name(command, model, table, tmp_path):
    expected = answers(command("predict", model, table).out)
    new = tmp_path / "new.csv"
    for order in ([2, 1, 0], [3, 0, 2, 1], [1, 2, 0]):
        new.write_text(reordered(table.read_text(), order))
        done = command("predict", model, new)
        assert done.status == 0, done.err
        assert answers(done.out) == expected


@pytest.mark.parametrize(
    ("header", "rows", "words"),
    [
        ("a,b", "1,2", "Missing: 'colour'"),
        ("a,colour,z", "1,red,2", "Missing: 'b'. Not seen before: 'z'"),
        ("a,b,colour", '1,"1,5",red', "row 1 (line 2), column 'b': expected numbers"),
        ("a,b,colour", "1,1e999,red", "column 'b'"),
    ],
)
def test_other_columns_are_refused_with_names(command, model, tmp_path, header, rows, words):
    (tmp_path / "new.csv").write_text(f"{header}\n{rows}\n")
    done = command("predict", model, tmp_path / "new.csv")
    assert done.status == 3, done.err
    assert done.out == ""
    assert words in done.err


@pytest.mark.filterwarnings("ignore:Column 'b' has missing cells")
def test_a_word_among_numbers_is_a_gap_and_said(command, model, tmp_path):
    frame = "a,b,colour\n1,2,red\n1,rotary,red\n"
    (tmp_path / "new.csv").write_text(frame)
    done = command("predict", model, tmp_path / "new.csv")
    assert done.status == 0, done.err
    words = "Note: Expected values like those of fit in column 'b', got 'rotary' in row 1"
    assert words in done.err
    (tmp_path / "gap.csv").write_text(frame.replace("rotary", ""))
    assert done.out == command("predict", model, tmp_path / "gap.csv").out
    with pytest.warns(UserWarning, match="column 'b', got 'rotary' in row 1"):
        found = gs.load_model(model).predict(pd.read_csv(tmp_path / "new.csv"))
    assert found.tolist() == answers(done.out)


def test_new_categories_are_said(command, model, tmp_path):
    (tmp_path / "new.csv").write_text("a,b,colour\n1,2,green\n")
    done = command("predict", model, tmp_path / "new.csv")
    assert done.status == 0
    assert "Note: Column 'colour' has categories not seen in fit: 'green'" in done.err


def test_columns_that_training_ignored_may_stay(command, model, tmp_path):
    (tmp_path / "new.csv").write_text("id,a,b,colour\n7,1,1,red\n")
    assert command("predict", model, tmp_path / "new.csv").status == 0
    (tmp_path / "new.csv").write_text("a,b,colour,extra\n1,1,red,5\n")
    assert command("predict", model, tmp_path / "new.csv", "--drop", "extra").status == 0


def test_dropped_rows_keep_the_numbers_of_the_others(command, model, tmp_path):
    (tmp_path / "new.csv").write_text("a,b,colour\n1,1,red\n,1,red\n-1,1,blue\n")
    done = command("predict", model, tmp_path / "new.csv", "--missing", "drop")
    assert [row["row"] for row in csv.DictReader(done.out.splitlines())] == ["1", "3"]
    assert "1 of 3 rows" in done.err
    done = command("predict", model, tmp_path / "new.csv")
    assert done.status == 0
    assert "Column 'a' has missing cells, and had none in fit" in done.err
    done = command("predict", model, tmp_path / "new.csv", "--missing", "error")
    assert done.status == 3
    assert "row 2, column 'a'" in done.err


def test_new_columns_are_ignored_and_said(command, model, tmp_path):
    (tmp_path / "new.csv").write_text("more,a,b,colour\n5,1,2,red\n")
    done = command("predict", model, tmp_path / "new.csv")
    assert done.status == 0
    assert "not seen in fit are ignored: 'more'" in done.err


@pytest.mark.parametrize("policy", ["drop", "impute"])
def test_gaps_of_matrices(command, tmp_path, policy):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    X[3, 1] = np.nan
    np.savez(tmp_path / "t.npz", X=X, y=y)
    refused = command("rank", tmp_path / "t.npz", "--missing", "error")
    assert refused.status == 3
    assert "row 4" in refused.err
    folder = tmp_path / "run"
    done = command("rank", tmp_path / "t.npz", "-o", folder, "--missing", policy)
    assert done.status == 0, done.err
    model = folder / "model.safetensors"
    done = command("predict", model, tmp_path / "t.npz", "--missing", policy)
    assert done.status == 0, done.err
    assert len(answers(done.out)) == (39 if policy == "drop" else 40)


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"", "damaged"), (b"x" * 100, "no model file"), (None, "nothing at")],
)
def test_bad_models_are_status_3(command, table, tmp_path, data, words):
    path = tmp_path / "bad.safetensors"
    if data is not None:
        path.write_bytes(data)
    done = command("predict", path, table)
    assert done.status == 3
    assert words in done.err


def test_what_cannot_predict(command, table, tmp_path):
    gs.save_model(gs.Gaussian(), tmp_path / "k")
    done = command("predict", tmp_path / "k", table)
    assert done.status == 2
    assert "predicts nothing" in done.err


def test_forged_columns(command, model, table):
    gs.save_model(gs.load_model(model), model, about={"columns": [{"name": 3}]})
    done = command("predict", model, table)
    assert done.status == 3
    assert "names and kinds" in done.err


def test_models_from_python_need_no_notes(command, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    gs.save_model(KernelSVC(gs.Gaussian(1.0)).fit(X, X[:, 0] > 0), tmp_path / "m")
    np.savez(tmp_path / "new.npz", X=X)
    done = command("predict", tmp_path / "m", tmp_path / "new.npz")
    assert done.status == 0, done.err
    assert set(answers(done.out)) == {"True", "False"}
    np.savez(tmp_path / "wide.npz", X=np.ones((2, 3)))
    done = command("predict", tmp_path / "m", tmp_path / "wide.npz")
    assert done.status == 3
    assert "3 features" in done.err


def test_kinds_of_data_do_not_mix(command, model, tmp_path):
    np.savez(tmp_path / "new.npz", X=np.ones((2, 3)))
    done = command("predict", model, tmp_path / "new.npz")
    assert done.status == 3
    assert "trained on table data, got matrix data" in done.err


def test_formulas_in_predictions_are_defused_on_request(command, tmp_path):
    X = np.array([[0.0], [1.0]] * 5)
    y = np.array(["=1+1", "plain"] * 5)
    gs.save_model(KernelSVC(gs.Linear(), C=100.0).fit(X, y), tmp_path / "m")
    np.savez(tmp_path / "new.npz", X=X[:2])
    args = ("predict", tmp_path / "m", tmp_path / "new.npz")
    assert answers(command(*args).out) == ["=1+1", "plain"]
    assert answers(command(*args, "--spreadsheet").out) == ["'=1+1", "plain"]


def test_ranked_model_predicts(command, tmp_path, finished):
    new = tmp_path / "new.csv"
    new.write_text(reordered(table_text(20, seed=9), [1, 2, 0]))
    done = command("predict", finished / "model.safetensors", new)
    assert done.status == 0, done.err
    assert set(answers(done.out)) <= {"same", "mixed"}
    direct = gs.load_model(finished / "model.safetensors")
    assert direct.predict(read_table(new).inputs()).tolist() == answers(done.out)


@pytest.mark.parametrize("first", [0, 1])
def test_svmlight_rows_of_other_width(first, command, tmp_path):
    """Rows with fewer columns keep the first index of training, which they may not have."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    labels = np.where(X[:, 1] > 0, 1, -1)
    rows = [
        " ".join([str(label), *(f"{j}:{value}" for j, value in enumerate(row, first))])
        for label, row in zip(labels, X, strict=True)
    ]
    (tmp_path / "train.svm").write_text("\n".join(rows))
    folder = tmp_path / "run"
    assert command("rank", tmp_path / "train.svm", "-o", folder).status == 0
    second = first + 1
    (tmp_path / "new.svm").write_text(f"0 {second}:3\n0 {second}:-3 {second + 1}:0.1\n")
    done = command("predict", folder / "model.safetensors", tmp_path / "new.svm")
    assert done.status == 0, done.err
    assert answers(done.out) == ["1", "-1"]
    (tmp_path / "wide.svm").write_text("0 9:2\n")
    done = command("predict", folder / "model.safetensors", tmp_path / "wide.svm")
    assert done.status == 3
    assert f"expected 3 columns as in training, got {10 - first}" in done.err


def test_words_in_the_target_column_do_not_matter(command, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=X[:, 0] + X[:, 1] ** 2)
    frame.to_csv(tmp_path / "t.csv", index=False)
    folder = tmp_path / "run"
    assert command("rank", tmp_path / "t.csv", "-t", "y", "-o", folder).status == 0
    expected = command("predict", folder / "model.safetensors", tmp_path / "t.csv").out
    for word in ("to come", "-", "1,5"):
        words = [word if i in (3, 59) else str(v) for i, v in enumerate(frame["y"])]
        frame.assign(y=words).to_csv(tmp_path / "new.csv", index=False)
        done = command("predict", folder / "model.safetensors", tmp_path / "new.csv")
        assert done.status == 0, done.err
        assert done.out == expected


def test_sequences(command, tmp_path):
    rng = np.random.default_rng(0)
    strings = ["".join(rng.choice(list("AC" if i % 2 else "GT"), size=12)) for i in range(140)]
    fasta = "".join(f">s{i}\n{s}\n" for i, s in enumerate(strings))
    (tmp_path / "s.fasta").write_text(fasta)
    labels = "".join(f"s{i},{'odd' if i % 2 else 'even'}\n" for i in range(140))
    (tmp_path / "l.csv").write_text(f"id,label\n{labels}")
    folder = tmp_path / "run"
    done = command("rank", tmp_path / "s.fasta", "--labels", tmp_path / "l.csv", "-o", folder)
    assert done.status == 0, done.err
    done = command("predict", folder / "model.safetensors", tmp_path / "s.fasta")
    assert done.status == 0, done.err
    assert answers(done.out) == ["odd" if i % 2 else "even" for i in range(140)]
    named = [row["identifier"] for row in csv.DictReader(done.out.splitlines())]
    assert named == [f"s{i}" for i in range(140)]
    rows = "".join(f"{s},{i % 2}\n" for i, s in enumerate(strings))
    (tmp_path / "s.csv").write_text(f"seq,y\n{rows}")
    again = tmp_path / "again"
    done = command("rank", tmp_path / "s.csv", "-t", "y", "-o", again)
    assert done.status == 0, done.err
    (tmp_path / "new.csv").write_text("seq\nACACACAC\n")
    done = command("predict", again / "model.safetensors", tmp_path / "new.csv")
    assert done.status == 0, done.err
    assert answers(done.out) == ["1"]


def test_a_threshold_on_request(command, model, table, tmp_path):
    assert command("predict", model, table, "--threshold", 0.2).status == 2
    trained = command("rank", table, "-t", "y", "-o", tmp_path / "run", "--quiet")
    assert trained.status == 0, trained.err
    path = tmp_path / "run" / "model.safetensors"
    found = threshold_table(gs.load_model(path)).of
    done = command("predict", path, table, "--threshold", 0.2, "--proba")
    assert done.status == 0, done.err
    rows = list(csv.DictReader(done.out.splitlines()))
    said = [row["prediction"] == found for row in rows]
    assert said == [float(row[f"probability of {found}"]) >= 0.2 for row in rows]
    assert 0 < sum(said) < len(said)
    assert not any(name.startswith("threshold") for name in rows[0])


@pytest.mark.parametrize("threshold", [0.5, 0.2])
def test_a_threshold_other_than_one_half_is_said(command, model, table, threshold):
    machine = gs.load_model(model)
    rows = pd.read_csv(table)
    labels = rows.pop("y").astype(str)
    machine[-1].calibrate(machine.decision_function(rows), labels, has_offsets=threshold != 0.5)
    if threshold != 0.5:
        machine[-1].calibration_offsets_ = 0.5 * np.log([0.8 / 0.2, 0.2 / 0.8])
    columns = predict.answers(machine, rows, True, None, [])
    name = f"threshold for {machine.classes_[-1]}"
    assert (name in columns) == (threshold != 0.5)
    assert columns.get(name, [0.2])[0] == pytest.approx(0.2)
