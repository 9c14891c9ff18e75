import pytest

import golden
import gramsmith as gs

pytest.importorskip("matplotlib")


def test_surface_is_drawn():
    import matplotlib.pyplot as plt

    from gramsmith.report import plot_surface

    learner = gs.TwoGaussianLearner(sigma1=0.3, n_grid=16).fit(golden.X, golden.y)
    ax = plot_surface(learner.surface_, mark=(learner.sigma2_, learner.u_))
    assert ax.get_xscale() == "log"
    assert len(ax.lines) == 1
    again = plot_surface(learner.surface_, ax)
    assert again is ax
    plt.close(ax.figure)


def test_a_learner_marks_its_optimum():
    import matplotlib.pyplot as plt

    from gramsmith.report import plot_surface

    learner = gs.TwoGaussianLearner(sigma1=0.3, n_grid=16).fit(golden.X, golden.y)
    ax = plot_surface(learner)
    assert ax.lines[0].get_xdata()[0] == learner.sigma2_
    assert ax.lines[0].get_ydata()[0] == learner.u_
    plt.close(ax.figure)
