"""Write a model file for every storable class, with inputs and answers, for later tests.

Run once per format of the file, with the code of the release that has it:
``cd tests && python -m models.write_models format-4``. The files are never written again: the next
release must load them and answer the same.
"""

import json
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    ExpSineSquared,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    StandardScaler,
)

import gramsmith as gs
from gramsmith.kernels.adapt import FromSklearn
from gramsmith.selection import AveragedClassifier, AveragedRegressor, LabelsClassifier
from gramsmith.tables import TableEncoder, TakeColumn
from tools.machine_zoo import CLASSIFIERS, REGRESSORS
from tools.registry import KERNELS

HERE = Path(__file__).parent
METHODS = ("predict", "decision_function", "predict_proba", "predict_interval", "transform")


def make_inputs():
    """Return training and new samples of every kind, and three targets."""
    rng = np.random.default_rng(7)
    vectors = rng.normal(size=(24, 3)) + 1.5 * np.eye(3)[np.arange(24) % 3]
    bases = list("ACGT")
    strings = ["".join(rng.choice(bases, size=6)) + ("ACAC", "GGTT")[i % 2] for i in range(24)]
    return {
        "vectors": vectors,
        "strings": np.array(strings),
        "two": np.array(["no", "yes"])[(vectors[:, 0] > vectors[:, 1]).astype(int)],
        "three": np.arange(24) % 3,
        "values": vectors[:, 0] + np.sin(vectors[:, 1]) + 0.1 * rng.normal(size=24),
    }


def make_table(data):
    """Return a table of numbers and categories."""
    colours = np.array(["red", "green", "blue"])[np.arange(24) % 3]
    return {
        "height": data["vectors"][:, 0].tolist(),
        "width": data["vectors"][:, 1].tolist(),
        "colour": colours.tolist(),
    }


def make_raw_table(table):
    """Return a table as people have it: gaps, dates, texts, ordered categories, levels."""
    rows = np.arange(24)
    words = ["a warm day in May", "cold rain", "snow and wind", "the sun at noon"]
    return pd.DataFrame(
        {
            "height": [None if i == 3 else v for i, v in enumerate(table["height"])],
            "seen": [f"2024-{1 + i % 12:02d}-{1 + i:02d} {i % 24:02d}:00" for i in rows],
            "note": [f"{words[i % 4]}, {words[i % 3]} number {i}" for i in rows],
            "size": [("low", "medium", "high")[i % 3] for i in rows],
            # NaN: pandas before 3.0 keeps a None, which imputers do not see
            "colour": [np.nan if i == 5 else v for i, v in enumerate(table["colour"])],
            "rooms": rows % 4,
        }
    )


def machines(data):
    """Yield (name, fitted model, kind of input)."""
    X, two, three, values = (data[k] for k in ("vectors", "two", "three", "values"))
    strings = data["strings"].tolist()
    K = gs.Gaussian(2.0)(X)
    for machine in CLASSIFIERS:
        yield machine.__name__, machine(gs.Gaussian(1.5) + gs.Linear()).fit(X, two), "vectors"
        yield f"{machine.__name__}-three", machine().fit(X, three), "vectors"
        yield f"{machine.__name__}-strings", machine(gs.Spectrum(2)).fit(strings, two), "strings"
        yield f"{machine.__name__}-matrix", machine("precomputed").fit(K, two), "matrix"
    for machine in REGRESSORS:
        yield machine.__name__, machine(gs.Gaussian(1.5)).fit(X, values), "vectors"
    landmarks = gs.KernelRidgeRegressor(solver="nystroem", n_landmarks=6, random_state=0)
    yield "KernelRidgeRegressor-landmarks", landmarks.fit(X, values), "vectors"
    outputs = gs.KernelRidgeRegressor(alpha=0.1).fit(X, np.column_stack([values, X[:, 2]]))
    yield "KernelRidgeRegressor-outputs", outputs, "vectors"
    for loss in ("squared_hinge", "squared", "hinge"):
        fitted = gs.KernelLossClassifier(gs.Gaussian(), loss=loss).fit(X, two)
        yield f"KernelLossClassifier-{loss}", fitted, "vectors"
    calibrated = gs.KernelSVC(gs.Gaussian(1.5), threshold=0.1).fit(X, two)
    yield "KernelSVC-calibrated", calibrated.calibrate(X[:, 0], two), "vectors"
    rowless = gs.KernelSVC(gs.Linear() + 1.0).fit(X, two).without_rows()
    yield "KernelSVC-without-rows", rowless, "vectors"


def learners(data):
    """Yield (name, fitted model, kind of input)."""
    X, two = data["vectors"], data["two"]
    yield "TransformLearner", gs.TransformLearner(max_iter=5).fit(X, two), "vectors"
    full = gs.TransformLearner(structure="full", early_stopping=False, max_iter=5)
    yield "TransformLearner-full", full.fit(X, two), "vectors"
    yield "KernelLearner", gs.KernelLearner(gs.Gaussian(np.ones(3)), max_iter=5).fit(X, two), "none"
    yield "TwoGaussianLearner", gs.TwoGaussianLearner().fit(X, two), "none"
    kernels = [("wide", gs.Gaussian(3.0)), ("narrow", gs.Gaussian(1.0)), ("linear", gs.Linear())]
    yield "KernelCombination", gs.KernelCombination(kernels).fit(X, two), "none"
    yield "SpectralAligner", gs.SpectralAligner(gs.Gaussian(2.0)).fit(X, two), "vectors"
    for method in ("extra_trees", "boosting"):
        learner = gs.ForestLearner(n_estimators=4, method=method, keep=0.5, random_state=0)
        yield f"ForestLearner-{method}", learner.fit(X, two), "none"
        leaves = gs.KernelRidgeClassifier(learner.kernel_, alpha=0.1).fit(X, two)
        yield f"KernelRidgeClassifier-{method}", leaves, "vectors"


def pipelines(data):
    """Yield (name, fitted model, kind of input): transformers, pipelines, selectors."""
    X, two, values = data["vectors"], data["two"], data["values"]
    strings = data["strings"].tolist()
    K = gs.Gaussian(2.0)(X)
    frame = pd.DataFrame(make_table(data))
    scaled = make_pipeline(StandardScaler(), gs.KernelRidgeClassifier())
    yield "Pipeline", scaled.fit(X, two), "vectors"
    ranged = make_pipeline(MinMaxScaler(), gs.TransformLearner(max_iter=3), gs.ParzenClassifier())
    yield "Pipeline-learned", ranged.fit(X, two), "vectors"
    centred = make_pipeline(gs.KernelCenterer(), gs.KernelRidgeRegressor("precomputed"))
    yield "Pipeline-matrix", centred.fit(K, values), "matrix"
    yield "NearestPSD", gs.NearestPSD().fit(gs.Sigmoid()(X)), "gram"
    yield "KernelNormalizer", gs.KernelNormalizer().fit(gs.Polynomial(2)(X)), "gram"
    selector = gs.KernelSelector(random_state=0)
    yield "KernelSelector", gs.KernelSelector(random_state=0).fit(X, two), "vectors"
    yield "KernelSelector-values", selector.fit(X, values), "vectors"
    yield "KernelSelector-strings", gs.KernelSelector(random_state=0).fit(strings, two), "strings"
    yield "KernelSelector-table", gs.KernelSelector(random_state=0).fit(frame, two), "table"
    views = gs.KernelSelector(kernels=[gs.Gaussian(2.0), gs.Linear()], random_state=0)
    yield "KernelSelector-views", views.fit((X, X[:, :2]), two), "views"


def unusual(data):
    """Yield (name, fitted model, kind of input): rows, samples and labels that are rare."""
    X, two, values = data["vectors"], data["two"], data["values"]
    yield "KernelSVC-sparse", gs.KernelSVC(gs.Gaussian(1.5)).fit(sp.csr_array(X), two), "sparse"
    single = gs.KernelRidgeClassifier(gs.Linear() + 1.0).fit(X.astype(np.float32), two == "no")
    yield "KernelRidgeClassifier-float32", single, "vectors"
    sets = gs.KernelRidgeClassifier(gs.AllSubsets()).fit(SETS, two)
    yield "KernelRidgeClassifier-sets", sets, "sets"
    yield "KernelSVC-trees", gs.KernelSVC(gs.Subtree(0.5)).fit(TREES, two), "trees"
    clipped = make_pipeline(
        MinMaxScaler((-1, 1), clip=True), StandardScaler(with_mean=False), gs.KernelSVR()
    )
    yield "Pipeline-clipped", clipped.fit(X, values), "vectors"
    table = make_pipeline(TableEncoder(indicators=True), gs.KernelRidgeClassifier(gs.Gaussian(2.0)))
    yield "Pipeline-table", table.fit(pd.DataFrame(make_table(data)), two), "table"
    for number, kernel in enumerate(
        (
            RBF([1.0, 2.0, 0.5]) * ConstantKernel(2.0) + DotProduct(0.5) + WhiteKernel(0.1),
            Matern(1.5, nu=0.7) + ExpSineSquared(1.2, 12.0),
            Exponentiation(RationalQuadratic(1.2, 0.8), 2),
            PairwiseKernel(metric="laplacian", gamma=0.4),
        )
    ):
        found = gs.KernelSVC(FromSklearn(kernel)).fit(X, two)
        yield f"KernelSVC-sklearn-{number}", found, "vectors"
    few = gs.KernelSelector([gs.Gaussian(2.0), gs.Linear()], random_state=0)
    yield "KernelSelector-summary", few.fit(pd.DataFrame(make_table(data)), two), "table"
    raw = make_raw_table(make_table(data))
    roles = {"note": "drop", "seen": "date", "size": "ordered"}  # texts would be 400 kB
    encoded = make_pipeline(TableEncoder(roles=roles), gs.KernelRidgeClassifier(gs.Gaussian(2.0)))
    yield "Pipeline-raw", encoded.fit(raw, two), "raw"
    powers = make_pipeline(TableEncoder(power=True), gs.KernelSVR(gs.Gaussian(2.0)))
    yield "Pipeline-powers", powers.fit(raw[["height", "rooms"]], values), "raw numbers"
    taken = make_pipeline(TakeColumn("note"), gs.KernelSVC(gs.Spectrum(2)))
    yield "Pipeline-column", taken.fit(raw[["note"]], two), "notes"
    filled = make_pipeline(SimpleImputer(strategy="most_frequent"), OrdinalEncoder())
    columns = ColumnTransformer(
        [
            ("gaps", SimpleImputer(add_indicator=True), ["height"]),
            ("power", PowerTransformer(), ["rooms"]),
            ("places", filled, ["colour"]),
            ("sizes", OneHotEncoder(drop="first", max_categories=3), slice("size", "size")),
            ("months", "drop", ["seen", "note"]),
        ],
        remainder="passthrough",
    )
    sorted_out = make_pipeline(columns, gs.KernelRidgeClassifier(gs.Gaussian(2.0)))
    yield "Pipeline-columns", sorted_out.fit(raw, two), "raw"
    numbered = ColumnTransformer([("scaled", StandardScaler(), [0])], remainder="passthrough")
    ways = make_pipeline(numbered, OneHotEncoder(handle_unknown="ignore"), gs.KernelSVR())
    yield "Pipeline-numbered", ways.fit(np.round(X), values), "vectors"
    landmarks = gs.Nystroem(gs.Gaussian(1.5), n_landmarks=8)
    waves = gs.RandomFourier(gs.Gaussian([1.0, 2.0, 1.5]), n_features=40)
    yield "KernelSVC-Nystroem", gs.KernelSVC(landmarks).fit(X, two), "vectors"
    fitted = gs.KernelRidgeRegressor(waves).fit(X, values)
    yield "KernelRidgeRegressor-RandomFourier", fitted, "vectors"


def chosen(data):
    """Yield (name, fitted model, kind of input): what `rank_kernels` puts together."""
    X, two, three, values = (data[k] for k in ("vectors", "two", "three", "values"))
    pair = [gs.Gaussian(1.5), gs.Laplacian(2.0)]
    classifiers = [gs.KernelRidgeClassifier(kernel, alpha=0.1) for kernel in pair]
    yield "AveragedClassifier", AveragedClassifier(classifiers, [0.3, 0.7]).fit(X, three), "vectors"
    regressors = [gs.KernelRidgeRegressor(kernel, alpha=0.1) for kernel in pair]
    yield "AveragedRegressor", AveragedRegressor(regressors).fit(X, values), "vectors"
    both = np.column_stack([two == "yes", three == 1]).astype(int)
    machine = gs.KernelRidgeRegressor(pair[0], alpha=0.1)
    yield "LabelsClassifier", LabelsClassifier(machine).fit(X, both), "vectors"
    raw = make_raw_table(make_table(data))
    few = {"kernels": pair, "random_state": 0, "roles": {"note": "drop"}}
    yield "KernelSelector-raw", gs.KernelSelector(**few).fit(raw, values), "raw"
    yield "KernelSelector-labels", gs.KernelSelector(**few).fit(raw, both), "raw"
    texts = make_pipeline(TableEncoder(roles={"size": "text"}), gs.KernelSVC(gs.Gaussian(2.0)))
    yield "Pipeline-texts", texts.fit(raw[["size", "rooms"]], two), "texts"


SETS = [{i % 5, i % 3, "x"} if i % 2 else frozenset({i % 4}) for i in range(24)]
TREES = [("S", ("N", f"a{i % 3}"), ("V", f"b{i % 2}", "c")) if i % 4 else "leaf" for i in range(24)]


def kernels(data):
    """Yield (name, kernel, kind of input): those of the registry, and what is none of them."""
    found = {name: kernel for name, (kernel, _) in KERNELS.items() if name != "rank one"}
    found |= {
        "by feature count": gs.as_kernel("rbf"),
        "additive chi2": gs.as_kernel("additive_chi2"),
        "fixed": gs.as_kernel(RBF(2.0, "fixed") + RBF(0.5)),
        "from scikit-learn": gs.as_kernel(RBF(2.0) + WhiteKernel(0.1)),
        "white": gs.Gaussian() + gs.White(0.3),
        "bounded": gs.Bounded(gs.Gaussian(1.2), {"length_scale": (0.5, 2.0)}),
        "all subsets": gs.AllSubsets(weights=[0.5, 1.0, 1.5]),
        "map of a function": gs.Gaussian() @ StandardScaler().fit(data["vectors"]),
        "waves": gs.RandomFourier(gs.Gaussian([1.0, 2.0, 1.5]), n_features=40),
    }
    for name, kernel in found.items():
        kind = "counts" if kernel.requires_nonnegative_input else "vectors"
        yield f"kernel-{re.sub('[ /]', '-', name)}", kernel, kind
    yield "kernel-precomputed", gs.Precomputed() + gs.Precomputed(), "gram"
    yield "kernel-subtree", gs.Subtree(0.7, kind="fragment"), "trees"
    strings = (gs.Spectrum(2), gs.AllSubstrings(4, 0.5), gs.Subsequence(2, 0.5))
    for kernel in (*strings, gs.Mismatch(3, 1, alphabet="ACGT"), gs.WeightedDegree(3, shift=1)):
        yield f"kernel-{type(kernel).__name__}", kernel, "strings"


def new_samples(kind, inputs, table):
    """Return samples to answer for: rows in another order, so that nothing rests on identity."""
    rows = np.arange(24)[::-3]
    X = inputs["vectors"]
    made = {
        "sets": lambda: [SETS[row] for row in rows],
        "trees": lambda: [TREES[row] for row in rows],
        "sparse": lambda: sp.csr_array(X[rows] + 0.1),
        "strings": lambda: inputs["strings"][rows].tolist(),
        "matrix": lambda: gs.Gaussian(2.0)(X[rows] + 0.1, X),
        "gram": lambda: gs.Polynomial(2)(X),
        "counts": lambda: np.floor(np.abs(3.0 * X[rows])),
        "raw": lambda: make_raw_table(table).iloc[rows],
        "raw numbers": lambda: make_raw_table(table).iloc[rows][["height", "rooms"]],
        "notes": lambda: make_raw_table(table).iloc[rows][["note"]],
        "texts": lambda: make_raw_table(table).iloc[rows][["size", "rooms"]],
        "table": lambda: pd.DataFrame(table).iloc[rows],
        "views": lambda: (X[rows] + 0.1, X[rows, :2] + 0.1),
    }
    return made.get(kind, lambda: X[rows] + 0.1)()


def answers(model, kind, inputs, table):
    """Return what a model says of the new samples, by method."""
    new = new_samples(kind, inputs, table)
    if not hasattr(model, "fit"):
        return {"kernel": model(new)}
    methods = [] if kind == "none" else [m for m in METHODS if hasattr(model, m)]
    found = {method: getattr(model, method)(new) for method in methods}
    kernel = getattr(model, "kernel_", None)
    if kernel is not None and kind == "none":
        found["kernel"] = kernel(new)
    return {name: np.asarray(value) for name, value in found.items()}


def main(version):
    """Write everything for one version."""
    folder = HERE / version
    folder.mkdir()
    inputs = make_inputs()
    table = make_table(inputs)
    np.savez_compressed(folder / "inputs.npz", **inputs)
    (folder / "table.json").write_text(json.dumps(table))
    warnings.simplefilter("ignore")
    kinds, recorded = {}, {}
    fitted = (*machines(inputs), *learners(inputs), *pipelines(inputs), *unusual(inputs))
    for name, model, kind in (*fitted, *chosen(inputs), *kernels(inputs)):
        gs.save_model(model, folder / f"{name}.safetensors")
        kinds[name] = kind
        for method, values in answers(model, kind, inputs, table).items():
            recorded[f"{name}:{method}"] = values
    np.savez_compressed(folder / "answers.npz", **recorded)
    (folder / "kinds.json").write_text(json.dumps(kinds, indent=1))


if __name__ == "__main__":
    main(sys.argv[1])
