"""`gramsmith drift`: two files, or a model file and a file."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import gramsmith as gs
from gramsmith.tables import TableEncoder
from gramsmith.tables.decide import ROLES
from gramsmith.tables.read import read_table


@pytest.fixture
def files(tmp_path, rng):
    def write(name, n, shift=0.0):
        frame = pd.DataFrame(
            {
                "size": rng.normal(size=n) + shift,
                "town": rng.choice(["Ulm", "Bern"], n),
                "y": rng.choice(["yes", "no"], n),
            }
        )
        frame.to_csv(tmp_path / name, index=False)
        return tmp_path / name

    return write("old.csv", 120), write("new.csv", 90, 1.0)


def test_two_tables(command, files):
    done = command("drift", *files)
    assert done.status == 0, done.err
    assert done.out.startswith("The new rows differ in 'size' (120 rows and 90 new rows; p = 0.0")
    assert "change" in done.out
    listed = json.loads(command("drift", *files, "--json", "--permutations", 99).out)
    assert [c["name"] for c in listed["columns"] if c["pvalue"] <= 0.05] == ["size"]
    assert listed["n_new"] == 90
    same = gs.drift_test(
        *(read_table(file).inputs() for file in files), n_permutations=99, random_state=0
    )
    assert listed["pvalue"] == same.pvalue
    left = command("drift", *files, "--drop", "size", "--json")
    assert [c["name"] for c in json.loads(left.out)["columns"]] == ["town", "y"]
    calm = command("drift", files[0], files[0])
    assert calm.out.startswith("No difference was found in any of 3 columns")


def test_whole_groups_are_shuffled(command, tmp_path, rng):
    paths = [tmp_path / "old.csv", tmp_path / "new.csv"]
    for path, names in zip(paths, (range(12), range(12, 22)), strict=True):
        site = np.repeat([f"{k:02d}" for k in names], 5)
        x = np.repeat(rng.normal(size=len(names)), 5) + 0.1 * rng.normal(size=len(site))
        pd.DataFrame({"site": site, "x": x}).to_csv(path, index=False)
    options = ("--json", "--permutations", 199)
    by_groups = json.loads(command("drift", *paths, "--groups", "site", *options).out)
    assert [c["name"] for c in by_groups["columns"]] == ["x"]
    by_role = json.loads(command("drift", *paths, "--role", "site=group", *options).out)
    assert by_role == by_groups
    alone = json.loads(command("drift", *paths, "--drop", "site", *options).out)
    assert alone["pvalue"] < by_groups["pvalue"]
    twice = command("drift", paths[0], paths[0], "--groups", "site")
    assert twice.status == 3
    assert "group '00' in both" in twice.err
    missing = command("drift", *paths, "--groups", "sit")
    assert missing.status == 3
    assert "Did you mean 'site'" in missing.err
    model = command("drift", tmp_path / "m.safetensors", paths[1], "--groups", "site")
    assert model.status == 2
    assert "model files keep no groups" in model.err


def test_help_lists_the_roles_that_there_are(command):
    help_ = " ".join(command("drift", "-h").out.split())
    named = help_.split("What a column is: ")[1].split(";")[0]
    assert set(named.replace(" or ", ", ").split(", ")) == set(ROLES)


def test_of_many_columns_those_that_differ_most_are_shown(command, tmp_path, rng):
    paths = [tmp_path / "old.csv", tmp_path / "new.csv"]
    for path in paths:
        pd.DataFrame(rng.normal(size=(40, 30))).add_prefix("x").to_csv(path, index=False)
    done = command("drift", *paths, "--permutations", 99)
    assert done.status == 0, done.err
    assert "11 more columns" in done.out
    assert len(done.out.splitlines()) < 30


@pytest.mark.parametrize("machine", [gs.KernelRidgeClassifier(), gs.KernelSVC(gs.Gaussian(3.0))])
def test_a_model(command, files, tmp_path, machine):
    data = read_table(files[0], target="y")
    model = make_pipeline(TableEncoder(), machine).fit(data.inputs(), data.labels.astype(str))
    columns = [
        {"name": name, "kind": "text" if column.dtype == object else "number"}
        for name, column in data.columns.items()
    ]
    path = tmp_path / "model.safetensors"
    gs.save_model(model, path, about={"kind": "table", "target": "y", "columns": columns})
    done = command("drift", path, files[1])
    assert done.status == 0, done.err
    assert "differ in 'size'" in done.out
    whole = len(model[-1].support_) == 120
    assert ("keeps no training rows" in done.err) != whole
    assert ("(all)" in done.out) == whole


def test_words_of_one_table_are_words_in_the_other(command, tmp_path, rng):
    codes = [f"{k:03d}" for k in rng.integers(0, 5, 60)]
    pd.DataFrame({"code": codes, "x": rng.normal(size=60)}).to_csv(tmp_path / "a.csv", index=False)
    pd.DataFrame({"code": codes[:40], "x": 1e3}).to_csv(tmp_path / "b.csv", index=False)
    done = command("drift", tmp_path / "a.csv", tmp_path / "b.csv", "--json")
    kinds = {c["name"]: (c["kind"], c["pvalue"] <= 0.05) for c in json.loads(done.out)["columns"]}
    assert kinds == {"code": ("category", False), "x": ("number", True)}


def test_what_cannot_be_read(command, files, tmp_path):
    assert command("drift", files[0], tmp_path / "none.csv").status == 3
    np.save(tmp_path / "m.npy", np.zeros((3, 2)))
    (tmp_path / "m.safetensors").write_bytes(b"no model")
    assert command("drift", tmp_path / "m.safetensors", files[1]).status == 3
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n3,4\n")
    done = command("drift", files[0], other)
    assert done.status == 3
    assert "none in common" in done.err
