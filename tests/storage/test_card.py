"""Summaries and model cards: what a file says of itself, for people."""

from html import escape

import numpy as np
import pandas as pd
import pytest
from markdown_it import MarkdownIt

import gramsmith as gs
from gramsmith.storage import inspect_model, model_card, overview
from gramsmith.storage.card import LISTED, formula, plain
from gramsmith.storage.models import ModelSummary

X = np.random.default_rng(1).normal(size=(60, 3))
Y = np.where(X[:, 0] > 0, "yes", "no|<b>")
KERNELS = [gs.Gaussian(2.0), gs.Linear()]


@pytest.fixture(scope="module")
def selected(tmp_path_factory):
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
    assert "| \\*weight\\* | number |" in card
    assert "| colour | 2 categories |" in card
    assert "| no\\|\\<b\\> |" in card
    assert "counts as none of the known ones" in card
    held = inspect_model(path).training_rows[0]
    assert plain(held) in card


@pytest.mark.filterwarnings("ignore:Column")
def test_the_card_says_what_becomes_of_gaps(selected):
    model, path = selected
    assert "Missing cells are imputed" in model_card(path)
    gaps = pd.DataFrame({name: [None] for name in model.feature_names_in_})
    assert model.predict(gaps)[0] in model.classes_
    assert "refused" not in model_card(path)


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
    assert "| ... and 5 more | |" in model_card(tmp_path / "m")


@pytest.mark.parametrize(
    "value", [None, 3, "x", [], [1], [["a"]], {"a": 1}, [[1, 2]], float(10**9)]
)
def test_facts_of_any_type_do_no_harm(value, tmp_path):
    names = ("rows", "columns", "classes", "values", "estimate", "limits", "versions", "date")
    summary = dict.fromkeys((*names, "score", "verdict", "groups"), value)
    for about in ({"summary": value}, {"summary": summary, "source": value}):
        gs.save_model(gs.KernelSVR().fit(X, X[:, 0]), tmp_path / "m", about=about)
        assert model_card(tmp_path / "m").startswith("# Model card")


@pytest.mark.parametrize(
    "text",
    [
        "[a](b) <i> `c` |\n# d\u202e",
        r"\<img src=x onerror=alert(1)//>",
        r"\\<img src=x>\\\<b>",
        "&lt;b&gt; &#60;i> ~~x~~ __y__ _z_ ![a](b)",
    ],
)
def test_texts_cannot_be_markdown(text):
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    for preset in ("commonmark", "gfm-like"):
        page = MarkdownIt(preset, {"html": True, "linkify": False}).render(f"- {plain(text)}")
        assert page == f"<ul>\n<li>{escape(shown)}</li>\n</ul>\n"


def test_texts_are_short():
    assert len(plain("x" * 10_000)) == 600


def test_formulas():
    assert formula({"$": "list", "items": [1, 2.5, 3, 4, 5]}) == "[1, 2.5, 3, 4, ...]"
    assert formula({"$": "float", "value": "inf"}) == "inf"
    assert formula({"$": "object"}) == "?()"


FACTS = {
    "kernel": "Gaussian(length_scale=2)",
    "rows": 1234,
    "groups": 2000,
    "date": "2026-01-02",
    "versions": {"gramsmith": "0.1.0", "numpy": "2.1"},
    "classes": [["no", 1000], ["yes", 234]],
    "columns": [["age", "number"], ["colour", "3 categories"]],
    "score": "accuracy",
    "estimate": {
        **{"value": 0.91234, "low": 0.9, "high": 0.925, "kind": "nested", "rows": 1234},
        **{"baseline": 0.8, "beats_baseline": True},
    },
    "verdict": "Use it.",
    "limits": ["Few rows of class yes."],
}
ABOUT = {"source": "people.csv", "target": "buys", "data_sha256": "ab12"}


def node(name, fitted=None, **params):
    return {"$": "object", "class": name, "version": 1, "params": params, "fitted": fitted or {}}


def said(model, facts=None, **about):
    """Return the overview of a tree, as if it stood in a file."""
    about = about if facts is None else {**about, "summary": facts}
    return overview(ModelSummary(2, "0.1.0", "note", about, model, {}))


def test_a_whole_card(tmp_path):
    machine = gs.KernelSVC(gs.Linear()).fit(X[:6, :2], ["no", "yes"] * 3)
    gs.save_model(machine, tmp_path / "m", about={**ABOUT, "summary": FACTS})
    held = plain(f"support_samples_ of KernelSVC: {len(machine.support_)} x 2 numbers")
    assert model_card(tmp_path / "m").splitlines() == [
        *("# Model card: m", "", "| | |", "|---|---|", "| model | KernelSVC |"),
        *("| kernel | Linear() |", "| task | classification, 2 classes: no, yes |"),
        f"| written | by gramsmith {gs.__version__}, format 3 |",
        *("| date | 2026-01-02 |", "| versions | gramsmith 0.1.0, numpy 2.1 |", ""),
        *(
            "## Data",
            "",
            "1,234 rows in 2,000 groups of people.csv, 2026-01-02.",
        ),
        *("Target: buys.", "SHA-256 of the file: ab12.", "", "| class | rows |", "|---|---:|"),
        *("| no | 1,000 |", "| yes | 234 |", "", "| column | role |"),
        *("|---|---|", "| age | number |", "| colour | 3 categories |", "", "## Score", ""),
        "To be expected on new data: accuracy 0.9123 (95 % interval 0.9 to 0.925; nested, 1234 "
        "rows).",
        "That is better than 0.8, the score of a constant answer.",
        *("", "Use it.", "", "## Limits", "", "- Few rows of class yes."),
        "- The score holds for rows drawn like the training rows. It says nothing of other places, "
        "times or groups, nor of single rows.",
        "- A category that was not among the training rows counts as none of the known ones.",
        f"- The file holds training rows ({held}): share it only with those who may see the data.",
    ]


def test_what_a_card_says_of_values_and_doubts(tmp_path):
    estimate = {**FACTS["estimate"], "beats_baseline": False, "value": 1, "low": 0, "high": 1}
    facts = {"rows": 1, "values": [-1, 2.5], "estimate": estimate}
    gs.save_model(gs.Linear(), tmp_path / "m", about={"summary": facts})
    card = model_card(tmp_path / "m").splitlines()
    assert "1 row." in card
    assert "Values from -1 to 2.5." in card
    assert "- Predictions far outside the range of the training values are extrapolations." in card
    assert "That is not clearly better than 0.8, the score of a constant answer." in card
    assert any(line.startswith("To be expected on new data: score 1 (95") for line in card)
    for values in ([1.0], [1.0, 2.0, 3.0], ["a", "b"], None):
        gs.save_model(gs.Linear(), tmp_path / "m", about={"summary": {"values": values}})
        assert "Values from" not in model_card(tmp_path / "m")


@pytest.mark.parametrize(("count", "more"), [(60, None), (61, 1), (75, 15)])
def test_long_tables_end(count, more, tmp_path):
    facts = {
        "columns": [[f"c{i}", "number"] for i in range(count)],
        "classes": [[f"k{i}", i] for i in range(count)],
    }
    gs.save_model(gs.Linear(), tmp_path / "m", about={"summary": facts})
    card = model_card(tmp_path / "m")
    assert card.count("| number |") == card.count("| k") - 1 == 60  # and the kernel's
    assert (f"| ... and {more} more | |" in card) == (more is not None)
    assert "| ... and" not in card or more


def test_what_an_overview_says_of_a_tree():
    machine = node("KernelSVC", {"classes_": {"$": "objects", "shape": [2], "items": ["a", "b"]}})
    assert said(node("Linear")) == {
        **{"model": "Linear", "kernel": "Linear()", "keeps": "no training rows"},
        "written": "by gramsmith 0.1.0, format 2",
    }
    found = said(machine)
    assert (found["model"], found["task"]) == ("KernelSVC", "classification, 2 classes: a, b")
    steps = {"$": "list", "items": [{"$": "tuple", "items": ["s", node("StandardScaler")]}]}
    steps["items"].append({"$": "tuple", "items": ["m", machine]})
    assert said(node("Pipeline", steps=steps))["model"] == "StandardScaler, then KernelSVC"
    members = {"$": "list", "items": [machine, node("KernelSVR"), node("KernelSVR")]}
    average = node("AveragedClassifier", {"machines_": members})
    found = said(average, {"kernel": "three of them"})
    assert (found["model"], found["kernel"]) == ("average of 3: KernelSVC", "three of them")
    chosen = node("KernelSelector", {"best_estimator_": average})
    assert said(chosen)["model"] == "average of 3: KernelSVC"
    assert said(node("KernelSelector", {"best_estimator_": machine}))["model"] == "KernelSVC"
    assert said({"$": "object"})["model"] == "?"


def test_what_an_overview_says_of_machines():
    classes = {"$": "array", "shape": [3]}
    assert said(node("KernelSVC", {"classes_": classes}))["task"] == "classification, 3 classes"
    assert said(node("KernelSVC", {"classes_": 1}))["task"] == "classification, ? classes"
    assert said(node("KernelSVR", {"coefficients_": classes}))["task"] == "regression"
    assert "task" not in said(node("KernelSVR"))
    machine = node("KernelSVR", {"n_features_in_": 4, "kernel_": node("Linear")})
    assert said(machine)["expects"] == "4 columns of numbers"
    assert said(machine)["kernel"] == "Linear()"
    assert said(node("KernelSVR", kernel="rbf"))["kernel"] == "rbf"
    names = {"$": "objects", "items": ["a" * 41, "b" * 40, *"cdefghijklm"]}
    expects = said(node("KernelSVR", {"feature_names_in_": names}))["expects"]
    assert (
        expects == f"13 columns: {'a' * 37}..., {'b' * 40}, c, d, e, f, g, h, i, j, k, l and 1 more"
    )
    names["items"].pop()
    assert said(node("KernelSVR", {"feature_names_in_": names}))["expects"].endswith(", k, l")
    assert said(machine, {"columns": [["x", "number"]]})["expects"] == "1 column: x"
    assert said(machine, {"rows": 5}, source="a.csv")["trained on"] == "5 rows of a.csv"
    assert "score" not in said(machine, {"estimate": {"value": 1.0, "low": None, "high": 1.0}})


def test_facts_of_a_selector_are_in_its_tree():
    kept = {"$": "dict", "items": [["rows", 7], ["list", {"$": "list", "items": [1]}]]}
    tree = node("KernelSelector", {"summary_": kept})
    assert ModelSummary(2, "0", "", {}, tree, {}).facts == {"rows": 7, "list": [1]}
    assert ModelSummary(2, "0", "", {"summary": {"rows": 8}}, tree, {}).facts == {"rows": 8}
    for tree in (node("Linear"), {"fitted": 3}, {}, node("Linear", {"summary_": 5})):
        assert ModelSummary(2, "0", "", {}, tree, {}).facts == {}
    assert ModelSummary(2, "0", "", {"summary": [1]}, node("Linear"), {}).facts == {}


def test_limits_of_texts():
    assert plain("x" * 600) == "x" * 600
    assert plain("x" * 601) == "x" * 597 + "..."
    assert formula({"$": "tuple", "items": [1, 2, 3, 4]}) == "[1, 2, 3, 4]"
    assert formula({"$": "list", "items": 5}) == "[?]"
    assert formula({"$": "array", "shape": [2, 3]}) == "array of 2 x 3"
    assert formula({"$": "sparse", "shape": None}) == "array of ?"
    assert formula({"$": "set"}) == "set"
    assert formula(0.123456789) == "0.123457"
    assert formula(None) == ""
    nested = node("Sum", k1=node("Linear"), k2=node("Gaussian", length_scale=2.0, other=None))
    assert formula(nested) == "Sum(Linear(), Gaussian(length_scale=2))"
