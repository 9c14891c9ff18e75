import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import gramsmith as gs
import textbook as tb
from gramsmith.kernels import NotDifferentiable
from gramsmith.learning import TransformLearner


@pytest.fixture
def parity(rng):
    X = rng.normal(size=(120, 5))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "up", "down")


@pytest.mark.parametrize("structure", ["diagonal", "full", "low_rank"])
def test_every_structure_climbs(structure, parity):
    X, y = parity
    learner = TransformLearner(structure=structure, early_stopping=False, random_state=0).fit(X, y)
    values = learner.history_["value"]
    assert values[-1] > values[0] + 0.05
    assert learner.value_ == max(values)
    assert gs.cka(learner.kernel_(X), y) == pytest.approx(learner.value_, abs=1e-9)
    S = learner.components_.T
    K = tb.gaussian(X @ S, length_scale=np.sqrt(0.5))
    np.testing.assert_allclose(learner.kernel_(X), K, atol=1e-10)
    np.testing.assert_allclose(learner.transform(X), X @ S)


@pytest.mark.parametrize(
    "measure",
    ["kta", "cka", "cka_debiased", "fsm", "fsm_loo", "radius_margin", "hsic", "mmd", "csm_scatter"],
)
@pytest.mark.parametrize("solver", ["lbfgs", "ascent"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_measure_improves(measure, solver, parity):
    X, y = parity
    learner = TransformLearner(measure=measure, solver=solver, init=np.full(5, 0.3), max_iter=30)
    values = learner.fit(X, y).history_["value"]
    sign = -1.0 if measure.startswith(("fsm", "csm", "radius")) else 1.0
    assert sign * learner.value_ > sign * values[0]


@pytest.mark.parametrize(
    "kernel", ["linear", "poly", "laplacian", gs.Matern(nu=2.5), gs.RationalQuadratic()]
)
def test_other_kernels(kernel, parity):
    X, _ = parity
    y = X[:, 0] + 0.5 * X[:, 1] > 0
    learner = TransformLearner(kernel, tol=1e-4).fit(X, y)
    assert learner.feature_importances_[:2].sum() > 0.7


@pytest.mark.parametrize("target", ["classes", "values", "outputs", "uneven"])
def test_every_target(target, parity):
    X, _ = parity
    y = {
        "classes": np.digitize(X[:, 0], [-0.5, 0.5]),
        "values": X[:, 0] ** 2 + 0.1 * X[:, 1],
        "outputs": np.column_stack([X[:, 0], X[:, 0] ** 2]),
        "uneven": X[:, 0] > 1.0,
    }[target]
    scheme = "uneven" if target == "uneven" else "auto"
    learner = TransformLearner(target=scheme, measure="kta" if scheme == "uneven" else "cka")
    assert learner.fit(X, y).feature_importances_.argmax() == 0


def test_whole_numbers_can_be_values(parity):
    X, _ = parity
    y = np.round(3 * X[:, 0] ** 2).astype(int)
    assert TransformLearner(task="regression").fit(X, y).feature_importances_[0] > 0.9


@pytest.mark.parametrize(("l1", "share"), [(0.0, 0.9), (0.01, 0.95)])
def test_informative_features_get_the_weight(l1, share, rng):
    """Three of thirty features matter; the learned map beats the isotropic kernel on new data."""
    X = rng.normal(size=(1300, 30))
    y = (X[:, :3] ** 2).sum(axis=1) > 2.366
    train, test = slice(0, 300), slice(300, None)
    learner = TransformLearner(l1=l1).fit(X[train], y[train])
    assert learner.feature_importances_[:3].sum() > share
    learned = SVC(kernel=learner.kernel_).fit(X[train], y[train]).score(X[test], y[test])
    isotropic = SVC(kernel="rbf").fit(X[train], y[train]).score(X[test], y[test])
    assert 1 - learned < 0.5 * (1 - isotropic)


def test_penalty_removes_features(parity):
    X, y = parity
    free = TransformLearner().fit(X, y)
    sparse = TransformLearner(l1=0.02).fit(X, y)
    removed = sparse.feature_importances_ == 0
    assert removed[2:].all()
    assert not removed[:2].any()
    ridge = TransformLearner(l2=0.1).fit(X, y)
    assert np.linalg.norm(ridge.components_) < np.linalg.norm(free.components_)


def test_penalty_of_rows_for_a_full_map(parity):
    X, y = parity
    learner = TransformLearner(structure="full", l1=0.1, early_stopping=False).fit(X, y)
    free = TransformLearner(structure="full", early_stopping=False).fit(X, y)
    assert learner.feature_importances_[2:].sum() < 0.5 * free.feature_importances_[2:].sum()


def test_select_from_model(parity):
    X, y = parity
    chosen = SelectFromModel(TransformLearner(l1=0.02), threshold=1e-6).fit(X, y)
    assert chosen.get_support().tolist() == [True, True, False, False, False]
    assert chosen.transform(X).shape == (120, 2)


def test_early_stopping_is_for_full_maps(parity):
    X, y = parity
    assert "held_out" not in TransformLearner().fit(X, y).history_
    full = TransformLearner(structure="full", random_state=0).fit(X, y)
    held = full.history_["held_out"]
    assert full.value_ == full.history_["value"][held.argmax()]
    few = TransformLearner(structure="full").fit(X[:9], y[:9])
    assert "held_out" not in few.history_
    with pytest.raises(ValueError, match="early_stopping=False"):
        TransformLearner(early_stopping=True).fit(X[:9], y[:9])


def test_early_stopping_of_the_bound_watches_alignment(parity):
    X, y = parity
    learner = TransformLearner(measure="radius_margin", early_stopping=True, random_state=0)
    held = learner.fit(X, y).history_["held_out"]
    assert ((held >= 0) & (held <= 1)).all()


def test_random_state_decides(parity):
    def fit(seed):
        return TransformLearner(structure="low_rank", random_state=seed, max_iter=5)

    with pytest.warns(ConvergenceWarning, match="max_iter"):
        one, two, other = (fit(seed).fit(*parity).components_ for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert np.abs(one - other).max() > 1e-6


def test_memory_and_threads_do_not_matter(parity):
    X, y = parity
    one = TransformLearner(n_jobs=1, memory=64).fit(X, y)
    two = TransformLearner(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.components_, two.components_)


def test_the_given_kernel_is_left_alone(parity):
    kernel = gs.Gaussian(2.0)
    learner = TransformLearner(kernel).fit(*parity)
    assert learner.kernel is kernel
    assert kernel.length_scale == 2.0
    assert learner.kernel_.kernel is not kernel


def test_interrupt_keeps_the_best(parity):
    def callback(info):
        if info["iteration"] == 3:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        learner = TransformLearner(callback=callback).fit(*parity)
    # The interrupted iteration had been computed.
    assert learner.value_ == max(learner.history_["value"])


def test_callback_can_stop_without_a_warning(parity):
    learner = TransformLearner(callback=lambda info: info["iteration"] >= 2).fit(*parity)
    assert learner.n_iter_ == 2


def test_data_frames(parity):
    pd = pytest.importorskip("pandas")
    X, y = parity
    frame = pd.DataFrame(X, columns=list("abcde"))
    learner = TransformLearner(structure="low_rank", random_state=0).set_output(transform="pandas")
    out = learner.fit(frame, y).transform(frame)
    assert out.columns.tolist() == ["transformlearner0", "transformlearner1"]
    assert learner.feature_names_in_.tolist() == list("abcde")


def test_in_a_pipeline(parity):
    X, y = parity
    machine = make_pipeline(TransformLearner(), SVC(gamma=1.0)).fit(X, y)
    assert machine.score(X, y) > 0.9
    clone(machine)


def test_float32_samples_use_float32_tiles(parity):
    X, y = parity
    single = TransformLearner().fit(X.astype(np.float32), y)
    double = TransformLearner().fit(X, y)
    assert single.value_ == pytest.approx(double.value_, abs=1e-4)


def test_weights_that_grow_without_limit_are_bounded():
    X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 20, axis=0)
    with pytest.warns(ConvergenceWarning, match="without limit"):
        learner = TransformLearner(measure="polarity").fit(X, np.repeat([0, 1], 20))
    assert np.isfinite(learner.components_).all()
    assert np.abs(learner.components_).max() <= 1000.0


def test_a_kernel_driven_to_a_constant_is_reported(parity):
    X, _ = parity
    with pytest.warns(ConvergenceWarning, match="nearly constant"):
        TransformLearner(measure="csm").fit(X, X[:, 0] > 0)


def test_a_penalty_that_removes_everything_is_reported(parity):
    with pytest.warns(ConvergenceWarning, match="removes every feature"):
        learner = TransformLearner(l1=10.0).fit(*parity)
    assert (learner.feature_importances_ == 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"structure": "low_rank", "rank": 6}, "1 <= rank <= 5"),
        ({"structure": "low_rank", "rank": 0}, "1 <= rank <= 5"),
        ({"l1": -1.0}, "l1 >= 0"),
        ({"l2": -0.1}, "l2 >= 0"),
        ({"init": np.zeros(5)}, "Zero is stationary"),
        ({"solver": "newton"}, "lbfgs, ascent"),
        ({"measure": "ridge_loo"}, "radius_margin"),
        ({"early_stopping": "yes"}, "early_stopping"),
        ({"validation_fraction": 1.5}, "validation_fraction"),
        ({"measure": "radius_margin", "C": 0.0}, "C > 0"),
        ({"target": "two_hot"}, "two_hot"),
    ],
)
def test_bad_options(options, message, parity):
    with pytest.raises(ValueError, match=message):
        TransformLearner(**options).fit(*parity)


@pytest.mark.parametrize(
    ("kernel", "name"), [(lambda a, b: a @ b.T, "FromCallable"), (gs.Spectrum(2), "Spectrum")]
)
def test_kernels_without_a_gradient_are_named(kernel, name, parity):
    with pytest.raises(NotDifferentiable, match=name):
        TransformLearner(kernel).fit(*parity)


def test_undefined_measures_say_so(parity):
    X, _ = parity
    with pytest.raises(ValueError, match="fsm_loo"):
        TransformLearner(measure="fsm_loo").fit(X, X[:, 0])
