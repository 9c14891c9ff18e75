"""Summaries and model cards: what a file says of itself, for people."""

import numpy as np
import pytest

import forgery
import gramsmith as gs
from gramsmith.storage import inspect_model, model_card, overview
from gramsmith.storage.card import LISTED, formula, plain

X = np.random.default_rng(1).normal(size=(60, 3))
Y = np.where(X[:, 0] > 0, "yes", "no|<b>")
KERNELS = [gs.Gaussian(2.0), gs.Linear()]


@pytest.fixture(scope="module")
def selected(tmp_path_factory):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["height", "*weight*", "age"])
    frame["colour"] = np.array(["red", "blue"])[np.arange(60) % 2]
    path = tmp_path_factory.mktemp("card") / "selected.safetensors"
    model = gs.KernelSelector(KERNELS, random_state=0).fit(frame, Y, groups=np.arange(60) // 3)
    gs.save_model(model, path)
    return model, path


def test_a_selector_keeps_what_its_card_needs(selected):
    model, path = selected
    facts = inspect_model(path).facts
    assert facts == gs.load_model(path).summary_ == model.summary_
    assert facts["estimate"] == model.ranking_.estimate.to_plain()
    assert facts["rows"] == 60
    assert facts["groups"] == 20
    assert facts["columns"][1:] == [
        ["*weight*", "number"],
        ["age", "number"],
        ["colour", "2 categories"],
    ]
    assert dict(facts["classes"]) == {label: int((label == Y).sum()) for label in set(Y)}
    assert facts["versions"]["gramsmith"] == gs.__version__


def test_the_card_says_data_roles_score_and_limits(selected):
    model, path = selected
    card = model_card(path)
    titles = [line for line in card.splitlines() if line.startswith("#")]
    assert titles == ["# Model card: selected.safetensors", "## Data", "## Score", "## Limits"]
    estimate = model.ranking_.estimate
    assert f"accuracy {estimate.value:.4g} (95 % interval {estimate.low:.4g} to" in card
    assert "60 rows in 20 groups" in card
    assert "| \\*weight\\* | number | refused |" in card
    assert "| colour | 2 categories | refused |" in card
    assert "| no\\|\\<b\\> |" in card
    assert "counts as none of the known ones" in card
    held = inspect_model(path).training_rows[0]
    assert held in card


def test_values_have_a_range(tmp_path):
    model = gs.KernelSelector(KERNELS, random_state=0).fit(X, X[:, 0] * 3.0)
    gs.save_model(model, tmp_path / "m")
    card = model_card(tmp_path / "m")
    assert f"Values from {3 * X[:, 0].min():.6g} to {3 * X[:, 0].max():.6g}." in card
    assert "extrapolations" in card
    assert "| task | regression |" in card


def test_nothing_is_invented(tmp_path):
    gs.save_model(gs.KernelSVC(gs.Linear()).fit(X, Y), tmp_path / "m", rows=False)
    card = model_card(tmp_path / "m")
    assert "## Data" not in card
    assert "Not known" in card
    assert "holds no training rows" in card


def test_an_overview_of_kernels_strings_and_many_columns(tmp_path):
    gs.save_model(gs.Gaussian(np.ones(3)), tmp_path / "m")
    found = overview(inspect_model(tmp_path / "m"))
    assert found["kernel"] == "Gaussian(length_scale=array of 3)"
    assert found["keeps"] == "no training rows"
    machine = gs.KernelSVC(gs.Spectrum(2)).fit(["AB", "BA", "AA", "BB"], [0, 1, 0, 1])
    gs.save_model(machine, tmp_path / "m")
    assert overview(inspect_model(tmp_path / "m"))["expects"] == "strings, sets or other objects"
    many = [[f"c{i}", "number"] for i in range(LISTED + 5)]
    gs.save_model(machine, tmp_path / "m", about={"summary": {"columns": many}})
    assert "c0, c1," in overview(inspect_model(tmp_path / "m"))["expects"]
    assert "| ... and 5 more | | |" in model_card(tmp_path / "m")


@pytest.mark.parametrize(
    "value", [None, 3, "x", [], [1], [["a"]], {"a": 1}, [[1, 2]], float(10**9)]
)
def test_facts_of_any_type_do_no_harm(value, tmp_path):
    names = ("rows", "columns", "classes", "values", "estimate", "limits", "versions", "date")
    summary = dict.fromkeys((*names, "score", "verdict", "groups"), value)
    for about in ({"summary": value}, {"summary": summary, "fill": value, "source": value}):
        gs.save_model(gs.KernelSVR().fit(X, X[:, 0]), tmp_path / "m", about=about)
        assert model_card(tmp_path / "m").startswith("# Model card")


def test_a_forged_tree_is_shown_or_refused(selected, tmp_path):
    header, manifest, body = forgery.parts(selected[1].read_bytes())
    for place in forgery.places(manifest["model"]):
        if place and place[-1] != "class":
            for value in (None, 7, [], {"$": "dict", "items": [[1]]}):
                forged = forgery.changed(manifest, ("model", *place), value)
                (tmp_path / "m").write_bytes(forgery.assemble(header, forged, body))
                try:
                    model_card(tmp_path / "m")
                except gs.ModelFormatError:
                    pass


def test_texts_cannot_be_markdown():
    assert plain("[a](b) <i> `c` |\n# d\u202e") == "\\[a\\](b) \\<i\\> \\`c\\` \\|\\n\\# d\\u202e"
    assert len(plain("x" * 10_000)) == 600


def test_formulas():
    assert formula({"$": "list", "items": [1, 2.5, 3, 4, 5]}) == "[1, 2.5, 3, 4, ...]"
    assert formula({"$": "float", "value": "inf"}) == "inf"
    assert formula({"$": "object"}) == "?()"
