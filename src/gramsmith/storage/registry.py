"""The closed list of what a model file may hold: classes, and the shapes of what they learned.

A file names a class by a key of `REGISTRY` and nothing else; modules and attribute names come from
here, never from the file. Each fitted attribute has a specification (see
:mod:`gramsmith.storage.shapes`) in which equal letters mean equal sizes within one object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from inspect import signature
from sys import modules
from types import MappingProxyType


@dataclass(frozen=True)
class Entry:
    """One storable class.

    Attributes
    ----------
    module : str
        Where the class is defined or exported.
    name : str
        Its name there.
    fitted : mapping of str to str
        Fitted attribute -> specification.
    transient : frozenset of str
        Attributes that explain a fit and are not kept.
    params : mapping of str to str
        Constructor arguments that may not be just anything, with their specification.
    """

    module: str
    name: str
    fitted: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    transient: frozenset[str] = frozenset()
    params: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def load(self) -> type:
        """Import the class; both names are constants of this module."""
        found: type = getattr(import_module(self.module), self.name)
        return found

    def parameters(self) -> dict[str, bool]:
        """Return the constructor's arguments, and whether each has a default."""
        return _parameters(self.load())


@cache
def _parameters(cls: type) -> dict[str, bool]:
    if cls.__init__ is object.__init__:  # type: ignore[misc]
        return {}
    found = signature(cls.__init__).parameters.values()  # type: ignore[misc]
    named = [
        p for p in found if p.name != "self" and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    ]
    return {p.name: p.default is not p.empty for p in named}


def _kernels(*names: str, **params: str) -> dict[str, Entry]:
    checked = MappingProxyType(params)
    return {name: Entry("gramsmith.kernels", name, params=checked) for name in names}


def _sklearn_kernels(*names: str, **params: str) -> dict[str, Entry]:
    home, checked = "sklearn.gaussian_process.kernels", MappingProxyType(params)
    return {f"sklearn.{name}": Entry(home, name, params=checked) for name in names}


def _estimator(module: str, name: str, *transient: str, **fitted: str) -> dict[str, Entry]:
    return {name: Entry(module, name, MappingProxyType(fitted), frozenset(transient))}


def _checking(entries: dict[str, Entry], **params: str) -> dict[str, Entry]:
    """Return entries with specifications of the parameters that answers rest on after a fit."""
    checked = MappingProxyType(params)
    return {name: replace(entry, params=checked) for name, entry in entries.items()}


_KERNELS = {
    **_kernels("Gaussian", "Laplacian", "Matern", "RationalQuadratic", "Periodic", "Chi2"),
    **_kernels(
        "Linear", "Polynomial", "Sigmoid", "Tanimoto", "Bilinear", "Constant", "Precomputed"
    ),
    **_kernels("Sum", "Product", k1="kernel", k2="kernel"),
    **_kernels("Scaled", kernel="kernel", scale="number"),
    **_kernels("Power", kernel="kernel", exponent="number"),
    **_kernels("PolynomialOf", "Exp", "Normalized", "GaussianOf", kernel="kernel"),
    **_kernels("Composed", kernel="kernel", map="map"),
    **_kernels("ByFeatureCount", power="number"),
    **_kernels("AdditiveChi2"),
    **_kernels("Fixed", kernel="kernel", parameters="none | list text"),
    **_kernels("LinearMap", S="array * | array * * | samples * *"),
    **_kernels("AllSubsets", "Subtree", "Spectrum", "AllSubstrings"),
    **_kernels("Mismatch", "Subsequence", "WeightedDegree"),
    "FromSklearn": Entry(
        "gramsmith.kernels.adapt", "FromSklearn", params=MappingProxyType({"source": "source"})
    ),
    # These hold functions, which no file has: they are listed so that a refusal names the argument.
    **_kernels("FunctionMap", "RankOne"),
    "FromCallable": Entry("gramsmith.kernels.adapt", "FromCallable"),
    **_sklearn_kernels("RBF", length_scale="number | array * | list number"),
    **_sklearn_kernels("Matern", length_scale="number | array * | list number", nu="real"),
    **_sklearn_kernels("RationalQuadratic", length_scale="number", alpha="number"),
    **_sklearn_kernels("ExpSineSquared", length_scale="number", periodicity="number"),
    **_sklearn_kernels("DotProduct", sigma_0="number"),
    **_sklearn_kernels("ConstantKernel", constant_value="number"),
    **_sklearn_kernels("WhiteKernel", noise_level="number"),
    **_sklearn_kernels("PairwiseKernel", gamma="number | none", metric="text"),
    **_sklearn_kernels("Sum", "Product", k1="source", k2="source"),
    **_sklearn_kernels("Exponentiation", kernel="source", exponent="number"),
}

_INPUTS = {"n_features_in_": "count p?", "feature_names_in_": "names p?"}

_TRANSFORMERS = {
    # a cache folder holds pickles, which fit would load: a file must not be able to name one
    "Pipeline": Entry(
        "sklearn.pipeline",
        "Pipeline",
        params=MappingProxyType({"steps": "steps", "memory": "none"}),
    ),
    **_estimator(
        "sklearn.preprocessing",
        "StandardScaler",
        mean_="array p | none",
        scale_="array p | none",
        var_="array p | none",
        n_samples_seen_="number | array p",
        **_INPUTS,
    ),
    **_estimator(
        "sklearn.preprocessing",
        "MinMaxScaler",
        min_="array p",
        scale_="array p",
        data_min_="array p",
        data_max_="array p",
        data_range_="array p",
        n_samples_seen_="number",
        **_INPUTS,
    ),
    **_estimator(
        "gramsmith.kernels", "KernelCenterer", means_="array p", mean_="number", **_INPUTS
    ),
    **_estimator("gramsmith.kernels", "KernelNormalizer", diagonal_="array p", **_INPUTS),
}

# A fitted machine is an expansion over s of its n training samples, with t outputs.
_EXPANSION = {
    "n_samples_fit_": "count n",
    "kernel_": "kernel",
    "support_": "index n s",
    "support_samples_": "samples s p | none",
    "coefficients_": "array s t",
    "intercept_": "array t | array 1",
    **_INPUTS,
}
_CLASSES = {"classes_": "labels c", **_EXPANSION}
_ANY_KERNEL = "kernel | source | text | none"
_RIDGE = {
    **{"solver_": "text", "jitter_": "number", "n_iter_": "whole", "alpha_": "number"},
    **{"alphas_": "array a", "loo_errors_": "loose *", "loo_residuals_": "loose * | loose * *?"},
}


def _machine(name: str, shared: dict[str, str], **own: str) -> dict[str, Entry]:
    return _checking(_estimator("gramsmith.machines", name, **shared, **own), kernel=_ANY_KERNEL)


_CALIBRATED = {"calibration_slope_": "number?", "calibration_offsets_": "array c?"}

_MACHINES = {
    **_checking(
        _estimator(
            "gramsmith.machines.svm", "KernelSVC", **_CLASSES, **_CALIBRATED, n_iter_="whole"
        ),
        kernel=_ANY_KERNEL,
        threshold="number",
    ),
    **_checking(
        _estimator("gramsmith.machines.svm", "KernelSVR", **_EXPANSION, n_iter_="whole"),
        kernel=_ANY_KERNEL,
    ),
    **_machine("ParzenClassifier", _CLASSES, thresholds_="loose *", loo_score_="real | none"),
    **_machine(
        "CentroidClassifier",
        _CLASSES,
        fsm_="loose c c | real",
        class_error_bounds_="loose *",
        error_bound_="real",
    ),
    **_machine(
        "KernelFisherDiscriminant",
        _CLASSES,
        priors_="array c",
        means_="array c t",
        criteria_="loose *",
        criterion_="real",
        jitter_="number",
    ),
    **_machine(
        "KernelPerceptron",
        _CLASSES,
        n_iter_="whole",
        mistakes_="whole",
        steps_="whole",
        last_coefficients_="array s t",
        moment_coefficients_="array s t",
    ),
    **_machine(
        "KernelLogisticRegression",
        _CLASSES,
        objective_="number",
        n_iter_="whole",
        jitter_="number?",
    ),
    **_machine("KernelRidgeClassifier", {**_CLASSES, **_RIDGE, **_CALIBRATED}),
    **_machine("KernelRidgeRegressor", {**_EXPANSION, **_RIDGE}, n_outputs_="whole", flat_="flag"),
    **_machine(
        "L2SVC",
        _CLASSES,
        n_iter_="whole",
        jitter_="number",
        squared_norms_="loose *",
        margins_="loose *",
        squared_radii_="loose *",
        radius_margin_bounds_="loose *",
        dual_variables_="array s t",
    ),
}

_RELEVANCE = {
    "covariance_": "array t r r",
    "precisions_": "loose s t",
    "log_evidence_": "real",
    "n_iter_": "whole",
    "relevance_indices_": "index n s",
    "history_": "value?",
}
_MACHINES |= {
    **_machine(
        "ImportVectorClassifier",
        _CLASSES,
        alpha_="number",
        alphas_="array a",
        path_deviances_="loose a",
        path_sizes_="array a",
        objective_="number",
        history_="value",
        n_iter_="whole",
        jitter_="number",
        import_indices_="index n s",
    ),
    **_machine("RelevanceVectorClassifier", {**_CLASSES, **_RELEVANCE}),
    **_machine("RelevanceVectorRegressor", {**_EXPANSION, **_RELEVANCE}, noise_variance_="number"),
}

_LEARNED = {"kernel_": "kernel", "value_": "real", **_INPUTS}


def _learner(name: str, **own: str) -> dict[str, Entry]:
    return _estimator("gramsmith.learning", name, **{**_LEARNED, **own})


_LEARNERS = {
    **_checking(
        _estimator("gramsmith.learning", "SpectralMap"),
        **{"kernel": "kernel", "samples": "samples s p", "coef": "array s q"},
    ),
    **_learner(
        "TransformLearner",
        components_="array q p | samples q p",
        feature_importances_="array p",
        history_="value",
        n_iter_="whole",
    ),
    **_learner("KernelLearner", values_="loose *", history_="value", n_iter_="whole"),
    **_learner(
        "TwoGaussianLearner",
        u_="number",
        sigma1_="number",
        sigma2_="number",
        surface_="value",
        history_="value",
        n_iter_="whole",
    ),
    **_learner(
        "KernelCombination",
        kernel_="kernel?",
        alignments_="loose m",
        weights_="array m",
        names_="list text",
        kernels_="list kernel",
        n_iter_="whole?",
    ),
    **_learner(
        "SpectralAligner",
        held_out_="loose * | none",
        threshold_="number",
        eigenvalues_="array q",
        alphas_="array q",
        n_iter_="whole?",
    ),
}

_SELECTION = {
    **_estimator(
        "gramsmith.selection",
        "TableEncoder",
        numeric_="array p",
        mean_="array m",
        scale_="array m",
        level_values_="array v",
        level_counts_="array m",
        category_names_="labels c",
        category_counts_="array k",
        feature_names_out_="labels *",
        column_names_="labels p?",
        **_INPUTS,
    ),
    **_checking(
        _estimator("gramsmith.selection.views", "TakeView", n_views_="whole"), index="whole"
    ),
    **_estimator(
        "gramsmith.selection",
        "KernelSelector",
        "ranking_",
        best_estimator_="model",
        best_kernel_="kernel",
        classes_="labels c?",
        **_INPUTS,
    ),
}

REGISTRY: Mapping[str, Entry] = MappingProxyType(
    {**_KERNELS, **_TRANSFORMERS, **_MACHINES, **_LEARNERS, **_SELECTION}
)


def entry_of(cls: type) -> tuple[str, Entry] | None:
    """Return key and entry of exactly this class, or None; subclasses are other classes."""
    for name, entry in REGISTRY.items():
        # a module that nobody has imported cannot be the home of an object somebody made
        if entry.name == cls.__name__ and entry.module in modules and entry.load() is cls:
            return name, entry
    return None
