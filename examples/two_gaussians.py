"""One alignment, many bandwidths: all local maxima, the best mixture, and a picture of them.

Run with ``python examples/two_gaussians.py [picture.png]``.
"""

import sys

import numpy as np

import gramsmith as gs


def main() -> None:
    x = np.array([0.0, 1.0, 10.0, 11.0, 100.0, 101.0, 110.0, 111.0])[:, None]
    y = [1, 1, 1, -1, -1, -1, -1, -1]
    learner = gs.TwoGaussianLearner(shrinkage=1.0).fit(x, y)
    print(f"first bandwidth {learner.sigma1_:.4f}")
    print(f"mixture: {learner.u_:.3f} of it, the rest at {learner.sigma2_:.4g}")
    print(f"alignment {learner.value_:.6f}")
    if len(sys.argv) > 1:
        from gramsmith.report import plot_surface

        ax = plot_surface(learner.surface_, mark=(learner.sigma2_, learner.u_))
        ax.figure.savefig(sys.argv[1])


if __name__ == "__main__":
    main()
