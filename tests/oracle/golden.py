"""Deterministic sample data and reference values with their tolerances.

The data: X[i, j] = sin((i+1)(j+1)) for 12 rows and 3 columns; y = +1 where X0 + X1/2 > 1/2
(rows 0, 1, 6, 7); three classes i mod 3; values X0^2 + X2; K the Gaussian of width one.
"""

import numpy as np

X = np.sin(np.outer(np.arange(1, 13), np.arange(1, 4)))
y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0.5, 1, -1)
lab = np.arange(12) % 3
yr = X[:, 0] ** 2 + X[:, 2]
K = np.exp(-((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2) / 2)
for _array in (X, y, lab, yr, K):
    _array.setflags(write=False)

TOL = 1e-8

#: name -> (value, absolute tolerance)
GOLDEN = {
    "sum_K": (44.7465742139, TOL),
    "norm_K": (5.1308092623, TOL),
    "kta": (0.3554161228, TOL),
    "cka": (0.4352024764, TOL),
    "cka_debiased": (0.3350024346, TOL),
    "kta_uneven": (0.2902565145, TOL),
    "mmd": (0.5584690550, TOL),
    "fsm_ddof1": (0.2597447314, TOL),
    "fsm_ddof0": (0.2362584759, TOL),
    "fsm_error_ddof1": (0.0632031762, TOL),
    "fsm_error_ddof0": (0.0528671266, TOL),
    "fsm_loo_ddof1": (0.4582418412, TOL),
    "fsm_loo_ddof0": (0.4160547815, TOL),
    "csm_ddof1": (2.3802545883, TOL),
    "csm_ddof0": (1.9415319902, TOL),
    "csm_scatter_2": (4.5538789989, TOL),
    "csm_scatter_3": (2.1702425390, TOL),
    "kta_3_onehot": (0.7131758780, TOL),
    "kta_3_simplex": (0.3595596115, TOL),
    "cka_3": (0.5391135962, TOL),
    "cka_debiased_3": (0.3735621625, TOL),
    "fsm_01": (0.0975320271, TOL),
    "fsm_02": (0.0940006709, TOL),
    "fsm_12": (0.3723167841, TOL),
    "fsm_regression": (0.2721746497, TOL),
    "fsm_regression_error": (0.0689698218, TOL),
    "regression_half": (0.3318089284, TOL),
    "regression_cka": (0.4975050003, TOL),
    "regression_cka_debiased": (0.4385137028, TOL),
    "best_sigma": (0.6799149589, TOL),
    "best_sigma_kta": (0.3888318549, TOL),
    "u_star": (0.3223870115, TOL),
    "u_star_kta": (0.3619255780, TOL),
    "u_circle": (0.4296230456, TOL),
    "spectral_all": (0.6845400139, TOL),
    "spectral_top5": (0.6680088836, TOL),
    "norm_d_kta": (0.1821755850, TOL),
    "norm_d_cka": (0.2631034189, TOL),
    "norm_d_cka_debiased": (0.4074122237, TOL),
    "norm_d_fsm": (0.5627567119, TOL),
    "norm_d_csm": (2.0202306480, TOL),
    "d_kta_d_sigma": (-0.1830226790, TOL),
    "d_cka_d_sigma": (0.0325291673, TOL),
    "d_fsm_d_sigma": (0.3145344268, TOL),
    "d_csm_d_sigma": (-1.2523458468, TOL),
    "d_kta_d_S_diag": ((0.3166823013, -0.0034684935, -0.0543806528), TOL),
    "d_kta_d_S_01": (0.1086729424, TOL),
    "d_fsm_d_S_diag": ((-0.2226562964, 0.0221055163, -0.2442680722), TOL),
    "inductive_kept": (6, 0),
    "inductive_alignment": (0.7863373591, TOL),
    "inductive_sum": (14.0964140285, TOL),
    "alignf": (0.4434397311, TOL),
    "alignf_uniform": (0.4071551782, TOL),
    # Printed to five digits, so half a unit of the last is all that can be asked of them.
    "alignf_weights": ((0.98964, 0.07159, 0.12444, 0.0), 5e-6),
    "w2": (7.8607068, 1e-6),
    "r2": (0.8179421, 1e-6),
    "rmb": (6.4296033, 1e-6),
    "d_rmb_d_S_diag": ((-5.17080, 1.19138, 1.52875), 1e-4),
    "d_rmb_d_C": (-0.004407, 1e-5),
    "n_support": (11, 0),
}

#: One Gaussian, KTA against sigma: every stationary point as (sigma, KTA, kind), to 1e-5.
SIGMA_COUNTEREXAMPLES = (
    (
        (0, 3, 5, 40),
        (-1, 1, 1, 1),
        ((1.351926, 0.546058, "max"), (12.709533, 0.181071, "min"), (87.353822, 0.250379, "max")),
    ),
    (
        (0, 1, 10, 11, 100, 101, 110, 111),
        (1, 1, 1, -1, -1, -1, -1, -1),
        ((0.849322, 0.395285, "max"), (2.710057, 0.379696, "min"), (10.021828, 0.456735, "max")),
    ),
)

#: Equality case of the FSM bound: 40 points a class on a line, a quarter of each on the threshold.
TIGHT_X = np.repeat([1.0, 0.0, 0.0, -1.0], [30, 10, 10, 30])[:, None]
TIGHT_Y = np.repeat([-1, 1], 40)
TIGHT = {"error": 0.25, "bound_ddof0": 0.25, "bound_ddof1": 0.2548}


def fig3_kta_gap(beta, per_axis=True):
    """Population value of 1 - KTA for two round clouds seen from the origin under the angle beta.

    The means are d apart; the standard deviation is d/2 per axis, or d/2 in total, which is
    d/(2 sqrt 2) per axis.
    """
    q = 1 - np.cos(beta)
    if per_axis:
        return 1 - (q / 2) / np.sqrt(1 + q**2)
    return 1 - (q / 2) / np.sqrt((1 - q / 4) ** 2 + (3 * q / 4) ** 2)
