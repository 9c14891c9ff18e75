"""``gramsmith score``: promises against labelled rows; columns that are kept beside predictions."""

import csv
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import gramsmith as gs
from gramsmith.selection import score_model

KERNELS = {"linear": "linear", "wide": gs.Gaussian(2.0)}


def rows(n, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"a": rng.normal(size=n) + shift, "b": rng.normal(size=n)})
    table["label"] = np.where(table.a + 0.7 * rng.normal(size=n) > 0.5, "yes", "no")
    table["value"] = table.a + 0.3 * rng.normal(size=n)
    table["name"] = [f"{k:04d}" for k in range(n)]
    return table


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder, train = tmp_path_factory.mktemp("models"), rows(200, 0)
    found = {}
    for target in ("label", "value"):
        ranking = gs.rank_kernels(train[["a", "b"]], train[target], KERNELS)
        about = {
            **{"kind": "table", "target": target, "ignored": ["name", "label", "value"]},
            "columns": [{"name": c, "kind": "number"} for c in "ab"],
            "summary": ranking.summary,
        }
        found[target] = folder / f"{target}.safetensors"
        gs.save_model(ranking.best_estimator, found[target], about=about)
        found[f"{target} ranking"] = ranking
    return found


def written(table, folder, name="test.csv"):
    table.to_csv(folder / name, index=False)
    return folder / name


@pytest.mark.parametrize("target", ["label", "value"])
def test_what_was_promised_against_what_it_does(command, models, tmp_path, target):
    test = rows(400, 1)
    ranking = models[f"{target} ranking"]
    done = command("score", models[target], written(test, tmp_path), "--json")
    assert done.status == 0, done.err
    found = json.loads(done.out)
    own = ranking.best_estimator.score(test[["a", "b"]], test[target])
    assert found["found"]["value"] == pytest.approx(own)
    assert found["found"]["low"] < own < found["found"]["high"]
    assert found["promised"]["value"] == pytest.approx(ranking.estimate.value)
    assert found["verdict"] == "as expected"
    assert found["found"]["beats_baseline"]
    held = {one["what"]: one for one in found["held"]}
    names = ["sets hold 'no'", "sets hold 'yes'"] if target == "label" else ["intervals hold"]
    for name in names:
        assert held[name]["promised"] == 0.9
        assert held[name]["value"] == pytest.approx(0.9, abs=0.08)
    if target == "label":
        assert any(name.startswith("precision of ") for name in held)
        # the lower end of an interval allows for its error
        assert all((one["error"] is None) == (" of " in name) for name, one in held.items())
    assert found["novel"]["value"] < 0.05


def test_the_text_fits_and_a_page_is_written(command, models, tmp_path):
    page = tmp_path / "page.html"
    file = written(rows(300, 2), tmp_path)
    done = command("score", models["label"], file, "-o", page)
    assert done.status == 0, done.err
    assert max(map(len, done.out.splitlines())) <= 80
    assert "so it is as expected" in done.out
    assert "A constant answer would get" in done.out
    assert "of the rows are unlike those of training, as expected" in done.out
    assert "lower end" in done.out
    assert "sets hold" in page.read_text()
    assert "lower end: of the promise." in page.read_text()
    assert command("score", models["label"], file, "-o", page).status == 2
    assert command("score", models["label"], file, "-o", page, "--force").status == 0


def test_worse_rows_are_called_worse_and_of_another_kind(command, models, tmp_path):
    test = rows(300, 3)
    rng = np.random.default_rng(0)
    test["label"] = rng.permutation(test["label"])
    test["b"] = 50.0
    done = command("score", models["label"], written(test, tmp_path))
    assert done.status == 0
    assert "worse than expected" in done.out
    assert "NOT clearly better" in done.out
    assert "unlike those of training" in done.out
    assert " NO" in done.out


@pytest.mark.parametrize("count", [(12, 0), (11, 1)], ids=["one class", "a class of one row"])
def test_new_rows_need_not_have_all_classes(command, models, tmp_path, count):
    test = rows(200, 9)
    some = [test[test.label == label][:n] for label, n in zip(("no", "yes"), count, strict=True)]
    done = command("score", models["label"], written(pd.concat(some), tmp_path))
    assert done.status == 0, done.err
    assert "on 12 rows" in done.out


def test_groups_weights_and_unknown_classes():
    train, test = rows(150, 4), rows(200, 5)
    ranking = gs.rank_kernels(train[["a", "b"]], train["label"], KERNELS)
    model, facts = ranking.best_estimator, ranking.summary
    X, y = test[["a", "b"]], test["label"].to_numpy(copy=True)
    plain = score_model(model, X, y, facts)
    one = plain.held[0]  # what holds of all rows is known from as many left-out ones only
    assert one.error == pytest.approx(0.3 / np.sqrt(1 + np.sum(train["label"] == "no")))
    low = replace(one, value=0.85, low=0.83, high=0.87)
    assert not replace(low, error=0.02).kept
    assert replace(low, error=0.03).kept
    again = score_model(
        model,
        pd.concat([X] * 4),
        np.tile(y, 4),
        facts,
        groups=np.tile(np.arange(200), 4),
    )
    assert again.found.error == pytest.approx(plain.found.error)
    assert again.held[0].low == pytest.approx(plain.held[0].low)
    w = np.random.default_rng(0).uniform(0.5, 2.0, 200)
    heavy = score_model(model, X, y, facts, sample_weight=w)
    assert heavy.found.value == pytest.approx(np.average(model.predict(X) == y, weights=w))
    y[:20] = "maybe"
    unknown = score_model(model, X, y, facts)
    assert unknown.found.value == pytest.approx(np.mean(model.predict(X) == y))
    assert score_model(model, X, y, {}).verdict == ""


def test_several_outputs_and_labels():
    train, test = rows(150, 6), rows(150, 7)
    for make in (lambda t: t[["value", "b"]], lambda t: (t[["value", "b"]] > 0).astype(int)):
        ranking = gs.rank_kernels(train[["a"]], make(train), KERNELS)
        found = score_model(ranking.best_estimator, test[["a"]], make(test), ranking.summary)
        assert found.found.value == pytest.approx(
            ranking.best_estimator.score(test[["a"]], make(test)), abs=0.05
        )


def test_columns_beside_predictions(command, models, tmp_path):
    test = rows(30, 8)
    test.loc[3, "name"] = None
    test["visits"] = np.arange(len(test)) % 7
    file = written(test, tmp_path)
    keep = ("--keep", "label", "--keep", "a", "--keep", "visits")
    done = command("predict", models["label"], file, "--id", "name", *keep)
    assert done.status == 0, done.err
    found = list(csv.DictReader(done.out.splitlines()))
    assert list(found[0]) == ["name", "row", "prediction", "label", "a", "visits"]
    assert [row["visits"] for row in found] == test["visits"].astype(str).tolist()
    assert [row["name"] for row in found[:5]] == ["0000", "0001", "0002", "", "0004"]
    assert [row["label"] for row in found] == test["label"].tolist()
    np.testing.assert_allclose([float(row["a"]) for row in found], test["a"])
    plain = command("predict", models["label"], file)
    assert [r["prediction"] for r in csv.DictReader(plain.out.splitlines())] == [
        r["prediction"] for r in found
    ]
    absent = command("predict", models["label"], file, "--keep", "nam")
    assert absent.status == 3
    assert "'name'" in absent.err
