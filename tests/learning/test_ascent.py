import numpy as np
import pytest
from sklearn.base import clone

import gramsmith as gs
from gramsmith.kernels import Fixed
from gramsmith.learning.ascent import REMEDY, Problem, degenerate, maximise
from gramsmith.learning.coordinates import make_coordinates
from gramsmith.learning.monitor import Monitor
from gramsmith.learning.objective import KernelObjective
from gramsmith.learning.samples import make_draw
from gramsmith.targets import make_target
from oracle import golden
from oracle.plain_learners import TransformLearner

SOLVERS = ("lbfgs", "ascent")


def bowl(theta):
    """A concave parabola with its top, 3, at (1, 2)."""
    gap = theta - np.array([1.0, 2.0])
    value = 3.0 - gap @ (np.array([1.0, 5.0]) * gap)
    return value, value, -2.0 * np.array([1.0, 5.0]) * gap


@pytest.mark.parametrize("solver", SOLVERS)
def test_finds_the_top(solver):
    found = maximise(bowl, np.array([4.0, -3.0]), Monitor("x"), solver=solver, tol=1e-10)
    assert found.converged
    assert found.value == pytest.approx(3.0, abs=1e-6)
    np.testing.assert_allclose(found.theta, [1.0, 2.0], atol=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_no_iteration_lowers_the_score(solver):
    kernel = Fixed(gs.Gaussian.from_gamma(1.0)) @ gs.LinearMap(np.eye(3) * 0.5)
    problem = Problem(
        kernel,
        make_coordinates(kernel),
        KernelObjective("kta", golden.X, make_target(golden.y)),
    )
    found = maximise(problem, problem.coordinates.read(kernel), Monitor("x"), solver=solver)
    assert found.converged
    assert np.all(np.diff(found.history["score"]) >= -1e-12)
    assert found.n_iter == len(found.history["score"]) - 1
    assert found.history["gradient_norm"][-1] < found.history["gradient_norm"][0]


@pytest.mark.parametrize("solver", SOLVERS)
def test_stays_inside_limits(solver):
    limits = np.array([[-5.0, 0.5], [-5.0, 5.0]])
    found = maximise(
        bowl, np.array([-1.0, 0.0]), Monitor("x"), solver=solver, limits=limits, tol=1e-9
    )
    np.testing.assert_allclose(found.theta, [0.5, 2.0], atol=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_says_when_iterations_ran_out(solver):
    found = maximise(
        bowl, np.array([40.0, -30.0]), Monitor("x"), solver=solver, max_iter=1, tol=0.0
    )
    assert not found.converged
    assert found.status == "max_iter"
    assert "max_iter" in found.advice


@pytest.mark.parametrize("solver", SOLVERS)
def test_an_interrupt_keeps_the_best(solver):
    calls = []

    def interrupted(theta):
        calls.append(theta)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return bowl(theta)

    found = maximise(interrupted, np.array([4.0, -3.0]), Monitor("x"), solver=solver)
    assert found.status == "interrupted"
    assert found.value == max(found.history["value"])
    assert found.value > bowl(np.array([4.0, -3.0]))[0]


@pytest.mark.parametrize("solver", SOLVERS)
def test_callback_sees_numbers_and_can_stop(solver):
    rows = []

    def callback(info):
        rows.append(info)
        return len(rows) == 2

    found = maximise(bowl, np.array([4.0, -3.0]), Monitor("x", callback=callback), solver=solver)
    assert found.status == "stopped"
    assert [row["iteration"] for row in rows] == [0, 1]
    assert set(rows[0]) == {"iteration", "value", "score", "step", "gradient_norm"}


@pytest.mark.parametrize("solver", SOLVERS)
def test_holes_in_the_objective_are_stepped_over(solver):
    def holed(theta):
        return (-np.inf, np.nan, np.zeros(2)) if theta[0] > 1.5 else bowl(theta)

    found = maximise(holed, np.array([-3.0, -3.0]), Monitor("x"), solver=solver, tol=1e-10)
    assert found.value == pytest.approx(3.0, abs=1e-2)


def test_an_undefined_start_is_refused():
    with pytest.raises(ValueError, match="finite"):
        maximise(lambda x: (-np.inf, np.inf, np.zeros(1)), np.zeros(1), Monitor("x"))


def test_held_out_value_chooses_the_iterate():
    """The held-out optimum lies before the top; it is kept although the ascent goes on."""
    monitor = Monitor("x", held_out=lambda theta: -abs(theta[0] - 2.0), patience=3)
    found = maximise(bowl, np.array([9.0, 2.0]), monitor, solver="ascent", tol=1e-12)
    best = np.argmax(found.history["held_out"])
    assert found.value == found.history["value"][best]
    assert found.n_iter <= best + 3


def test_verbose_prints_a_line_per_iteration(capsys):
    found = maximise(bowl, np.array([4.0, -3.0]), Monitor("Name", verbose=1))
    assert capsys.readouterr().out.count("[Name]") == found.n_iter + 1


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_the_size_of_the_objective_does_not_matter(solver, unit):
    def scaled(theta):
        value, _, slope = bowl(theta)
        return unit * value, unit * value, unit * slope

    found = maximise(scaled, np.array([4.0, -3.0]), Monitor("x"), solver=solver, tol=1e-16)
    np.testing.assert_allclose(found.theta, [1.0, 2.0], atol=1e-2)


def test_steps_are_short_at_first():
    """Far from the start the objective is flat: a bold step would end there."""

    def hill(theta):
        value = float(np.exp(-((theta[0] - 3.0) ** 2)) + 1e-3 * theta[0])
        return value, value, np.array([-2 * (theta[0] - 3.0) * (value - 1e-3 * theta[0]) + 1e-3])

    found = maximise(hill, np.array([0.0]), Monitor("x"), tol=1e-10)
    assert found.theta[0] == pytest.approx(3.0, abs=1e-2)
    assert np.abs(np.diff(found.history["step"])).max() <= 2.0
    np.testing.assert_array_equal(found.history["measure"], found.history["value"])


@pytest.mark.parametrize(
    ("kernel", "verdict"),
    [
        (gs.Gaussian(1e-3), "the identity"),
        (gs.Gaussian(1e4), "constant"),
        (gs.Gaussian(1.0), None),
        (gs.Linear(), None),
    ],
)
def test_kernels_that_tell_nothing(kernel, verdict, rng):
    assert degenerate(kernel, rng.normal(size=(500, 2))) == verdict
    assert verdict is None or REMEDY[verdict]


def test_size_of_the_kernel_does_not_matter(rng):
    assert degenerate(1e-6 * gs.Gaussian(1.0), rng.normal(size=(50, 2))) is None
    assert degenerate(gs.Gaussian(1.0), np.zeros((2, 1))) is None


@pytest.fixture
def parity(rng):
    X = rng.normal(size=(600, 6))
    return X, X[:, 0] * X[:, 1] > 0


def in_batches(**options):
    return TransformLearner(solver="ascent", batch_size=64, max_iter=150, random_state=0, **options)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_batches_find_the_features(parity):
    found = in_batches().fit(*parity)
    assert found.feature_importances_[:2].sum() > 0.8
    assert found.n_iter_ == 150


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_batches_are_repeatable(parity):
    learner = in_batches().set_params(max_iter=30)
    one, two = clone(learner).fit(*parity), clone(learner).fit(*parity)
    np.testing.assert_array_equal(one.components_, two.components_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_batches_with_a_held_out_part(parity):
    found = in_batches(early_stopping=True).fit(*parity)
    held = found.history_["held_out"]
    assert found.value_ == found.history_["value"][np.argmax(held)]


def test_an_interrupt_keeps_what_was_learned(parity):
    def callback(info):
        if info["iteration"] == 20:
            raise KeyboardInterrupt

    with pytest.warns(Warning, match="interrupted"):
        found = in_batches(callback=callback).fit(*parity)
    assert found.n_iter_ == 21


def test_batches_need_gradient_ascent(parity):
    with pytest.raises(ValueError, match="batch_size"):
        TransformLearner(batch_size=64).fit(*parity)
    with pytest.raises(ValueError, match=r"'batch_size' parameter .*Got 4"):
        TransformLearner(batch_size=4, solver="ascent").fit(*parity)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_batches_of_uneven_classes(rng):
    """Seventeen of six hundred: a batch without one of them has no value.

    Two of them in a batch tell little, so that one climb may end at a feature of noise; climbs
    that draw other batches do not end at the same one.
    """
    X = rng.normal(size=(600, 5))
    rare = np.argsort(-X[:, 0])[:17]
    y = np.isin(np.arange(600), rare).astype(int)
    X[rare, 0] += 3.0
    draw = make_draw(make_target(y), np.arange(600), 64, np.random.RandomState(0))
    assert all(np.isin(draw(), rare).sum() >= 2 for _ in range(200))
    learner = in_batches().set_params(max_iter=60)
    found = [learner.set_params(random_state=i).fit(X, y).feature_importances_ for i in range(8)]
    importances = np.mean(found, axis=0)
    assert importances[0] > 1.1 * importances[1:].max()
