import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import golden
import gramsmith as gs
import textbook as tb
from gramsmith.learning import TwoGaussianLearner


def test_golden_share_and_value():
    learner = TwoGaussianLearner(0.2, 1.0).fit(golden.X, golden.y)
    assert learner.u_ == pytest.approx(golden.GOLDEN["u_star"][0], abs=1e-8)
    assert learner.value_ == pytest.approx(golden.GOLDEN["u_star_kta"][0], abs=1e-8)
    assert tb.kta(learner.kernel_(golden.X), golden.y) == pytest.approx(learner.value_, abs=1e-10)


def test_golden_share_on_the_circle():
    learner = TwoGaussianLearner(0.2, 1.0, mixing="circle").fit(golden.X, golden.y)
    assert learner.u_ == pytest.approx(golden.GOLDEN["u_circle"][0], abs=1e-8)
    assert learner.value_ == pytest.approx(golden.GOLDEN["u_star_kta"][0], abs=1e-8)
    assert tb.kta(learner.kernel_(golden.X), golden.y) == pytest.approx(learner.value_, abs=1e-10)


def test_golden_best_single_bandwidth():
    learner = TwoGaussianLearner().fit(golden.X, golden.y)
    assert learner.sigma1_ == pytest.approx(golden.GOLDEN["best_sigma"][0], abs=1e-8)
    assert learner.value_ >= golden.GOLDEN["best_sigma_kta"][0] - 1e-10


@pytest.mark.parametrize("measure", ["kta", "cka", "cka_debiased"])
@pytest.mark.parametrize(
    "y", [golden.y, golden.lab, golden.yr], ids=["binary", "classes", "values"]
)
def test_second_bandwidth_is_the_best_of_a_grid(measure, y):
    learner = TwoGaussianLearner(sigma1=0.3, measure=measure).fit(golden.X, y)
    value = {"kta": gs.kta, "cka": gs.cka}.get(measure, lambda K, y: gs.cka(K, y, debiased=True))
    for sigma in np.geomspace(0.1, 10, 12):
        for u in np.linspace(0, 1, 6):
            K = u * gs.Gaussian(0.3)(golden.X) + (1 - u) * gs.Gaussian(sigma)(golden.X)
            assert value(K, y) <= learner.value_ + 1e-6


@pytest.mark.parametrize("mixing", ["linear", "circle"])
def test_surface(mixing):
    learner = TwoGaussianLearner(sigma1=0.3, mixing=mixing).fit(golden.X, golden.y)
    u, sigma, value = (learner.surface_[name] for name in ("u", "sigma", "value"))
    assert value.shape == (len(u), len(sigma))
    rest = 1 - u[20] if mixing == "linear" else np.sqrt(1 - u[20] ** 2)
    K = u[20] * gs.Gaussian(0.3)(golden.X) + rest * gs.Gaussian(sigma[30])(golden.X)
    assert value[20, 30] == pytest.approx(tb.kta(K, golden.y), abs=1e-10)
    assert value.max() <= learner.value_ + 1e-9


def test_a_limit_can_be_best():
    y = np.ones(30)
    y[15] = -1
    learner = TwoGaussianLearner(sigma1=0.1).fit(np.arange(30.0)[:, None], y)
    assert learner.sigma2_ == np.inf
    K = learner.kernel_(np.arange(30.0)[:, None])
    assert tb.kta(K, y) == pytest.approx(learner.value_, abs=1e-6)


def test_history_and_callback():
    rows = []
    learner = TwoGaussianLearner(sigma1=0.3, callback=rows.append).fit(golden.X, golden.y)
    assert len(rows) == len(learner.history_["sigma"]) >= 64
    with pytest.warns(ConvergenceWarning, match="ended before"):
        TwoGaussianLearner(sigma1=0.3, callback=lambda row: True).fit(golden.X, golden.y)


def test_interrupt_keeps_the_best():
    def callback(row):
        if row["sigma"] > 1.0:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        learner = TwoGaussianLearner(callback=callback).fit(golden.X, golden.y)
    assert learner.value_ >= max(learner.history_["value"]) - 1e-9


def test_verbose(capsys):
    TwoGaussianLearner(0.2, 1.0, n_grid=4, verbose=1).fit(golden.X, golden.y)
    assert "[TwoGaussianLearner] 1: sigma 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sigma1": 0.0}, "sigma1 > 0"),
        ({"sigma2": -1.0}, "sigma2 > 0"),
        ({"mixing": "square"}, "linear, circle"),
        ({"measure": "fsm"}, "kta, cka"),
        ({"n_grid": 2}, "n_grid"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        TwoGaussianLearner(**options).fit(golden.X, golden.y)


@pytest.mark.slow
def test_table_of_mixtures_of_digits(data_dir):
    """Row u = 0 of Table 1 of Tan et al.: eights and nines, 100 images each."""
    z = np.load(data_dir / "usps" / "usps.npz")
    X = np.vstack([z["X"][z["y"] == d][:100].astype(float) for d in (8, 9)])
    y = np.repeat([1, -1], 100)
    printed = {450: 0.090, 800: 0.173, 1150: 0.102, 1500: 0.061, 1850: 0.040, 2200: 0.028}
    for sigma, value in printed.items():
        assert gs.kta(gs.Gaussian(float(sigma))(X), y) == pytest.approx(value, abs=6e-4)
    learner = TwoGaussianLearner(sigma1=50.0).fit(X, y)
    assert learner.value_ >= 0.173
