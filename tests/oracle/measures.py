"""Every measure of a Gram matrix from its definition, dense and unhurried.

Whether something vanishes is decided without rounding: the floats of K are fractions, and so are
the weights of samples in a class mean. No threshold decides what is undefined or infinite.
"""

from fractions import Fraction

import numpy as np

from oracle.targets import (
    as_target,
    classes_of,
    mean_difference,
    members,
    signs,
)


def inner(A, B):
    """<A, B> = sum_ij A_ij B_ij."""
    return float(np.sum(np.asarray(A) * np.asarray(B)))


def norm(A):
    """Frobenius norm."""
    return float(np.sqrt(inner(A, A)))


def centering_matrix(n):
    """H = I - 11'/n."""
    return np.eye(n) - np.ones((n, n)) / n


def centred(K):
    """HKH."""
    H = centering_matrix(len(K))
    return H @ K @ H


def hollow(K):
    """K with a zero diagonal."""
    return np.asarray(K) - np.diag(np.diag(K))


def u_centred(K):
    """U-centring, entry by entry; the diagonal is zero. Needs n >= 4."""
    n = len(K)
    bare = hollow(K)
    row = [sum(bare[i]) for i in range(n)]
    total = sum(row)
    U = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j:
                U[i, j] = bare[i, j] - (row[i] + row[j]) / (n - 2) + total / ((n - 1) * (n - 2))
    return U


PROJECTIONS = {
    "plain": lambda K: np.asarray(K, dtype=float),
    "centred": centred,
    "debiased": u_centred,
}


def tells_nothing(K, projection="plain"):
    """Whether K is constant in what the projection sees of it: 0, or the same for all pairs."""
    K = np.asarray(K)
    seen = K[~np.eye(len(K), dtype=bool)] if projection == "debiased" else K
    return np.ptp(seen) == 0 if projection in ("centred", "debiased") else not seen.any()


def alignment(K, L, projection="plain"):
    """<PK, PL> / (|PK| |PL|); 0 by definition where K or L tells nothing."""
    if tells_nothing(K, projection) or tells_nothing(L, projection):
        return 0.0
    PK, PL = PROJECTIONS[projection](K), PROJECTIONS[projection](L)
    return inner(PK, PL) / (norm(PK) * norm(PL))


def kta(K, T_or_y):
    """Alignment with the target matrix, K and T as they are."""
    return alignment(K, as_target(K, T_or_y), "plain")


def cka(K, T_or_y):
    """Centred alignment."""
    return alignment(K, as_target(K, T_or_y), "centred")


def cka_debiased(K, T_or_y):
    """U-centred alignment."""
    return alignment(K, as_target(K, T_or_y), "debiased")


def polarity(K, T_or_y):
    """<K, T>."""
    return inner(K, as_target(K, T_or_y))


def hsic(K, T_or_y, unbiased=False):
    """tr(KHTH)/(n-1)^2 (Gretton et al.), or the unbiased <UK, UT>/(n(n-3)) (Song et al.)."""
    T, n = as_target(K, T_or_y), len(K)
    if unbiased:
        return inner(u_centred(K), u_centred(T)) / (n * (n - 3))
    H = centering_matrix(n)
    return float(np.trace(K @ H @ T @ H)) / (n - 1) ** 2


def hsic_by_quadruples(K, T_or_y):
    """Unbiased HSIC: mean over distinct i, j, q, r of K_ij (T_ij + T_qr - 2 T_iq), O(n^4)."""
    T, n = as_target(K, T_or_y), len(K)
    total = 0.0
    for i in range(n):
        for j in range(n):
            for q in range(n):
                for r in range(n):
                    if len({i, j, q, r}) == 4:
                        total += K[i, j] * (T[i, j] + T[q, r] - 2 * T[i, q])
    return total / (n * (n - 1) * (n - 2) * (n - 3))


def block_mean(K, rows, columns, distinct=False):
    """Mean of K over rows x columns, leaving out i = j on request; an exact fraction."""
    pairs = [Fraction(float(K[i, j])) for i in rows for j in columns if not (distinct and i == j)]
    return sum(pairs) / len(pairs)


def mmd(K, y, unbiased=False):
    """Squared distance of the two class means; unbiased leaves the diagonal out of them."""
    return _distance(K, *members(y), unbiased)


def _distance(K, a, b, unbiased=False):
    within = block_mean(K, a, a, unbiased) + block_mean(K, b, b, unbiased)
    return float(within - 2 * block_mean(K, a, b))


def embed(K):
    """Phi with K = Phi Phi' for a positive semidefinite K, from its eigenvectors."""
    values, vectors = np.linalg.eigh(np.asarray(K, dtype=float))
    return vectors * np.sqrt(np.clip(values, 0, None))


def _check_classes(y, ddof):
    for label, rows in zip(classes_of(y), members(y), strict=True):
        if len(rows) <= ddof:
            raise ValueError(f"class {label!r} has {len(rows)} members, not more than {ddof}")


def fsm(K, y, ddof=1, aggregate="mean", leave_one_out=False):
    """(sd_+ + sd_-) / |phi_- - phi_+|^2 of the projections on the mean difference.

    More classes: pairs of classes, then the (n_a + n_b)-weighted mean, the max, or the matrix.
    """
    F = fsm_pairwise(K, y, ddof, leave_one_out)
    return _aggregated(F, y, aggregate)


def _aggregated(F, y, aggregate):
    if aggregate == "matrix":
        return F
    sizes = [len(rows) for rows in members(y)]
    pairs = [(a, b) for a in range(len(sizes)) for b in range(a)]
    values = np.array([F[a, b] for a, b in pairs])
    weights = np.array([sizes[a] + sizes[b] for a, b in pairs], dtype=float)
    if aggregate == "max":
        return float(np.max(values))
    return float(np.sum(weights * values) / np.sum(weights))


def fsm_pairwise(K, y, ddof=1, leave_one_out=False):
    """F_ab for all pairs of classes, zero on the diagonal.

    Leaving one out: K is centred over the *whole* sample and no point is in its own class mean.
    """
    _check_classes(y, max(ddof, 1) if leave_one_out else ddof)
    K = np.asarray(K, dtype=float)
    base = centred(K) if leave_one_out else K
    groups = members(y)
    F = np.zeros((len(groups), len(groups)))
    for a, rows_a in enumerate(groups):
        for b, rows_b in enumerate(groups):
            if a != b:
                # the mean projections add up to this distance, in which centring cancels
                distance = _distance(K, rows_a, rows_b, leave_one_out)
                spread = _spread_of_pair(base, rows_a, rows_b, ddof, leave_one_out)
                F[a, b] = spread / distance if distance > 0 else np.inf
    return F


def _spread_of_pair(base, rows_a, rows_b, ddof, leave_one_out):
    spread = 0.0
    for rows, other in ((rows_a, rows_b), (rows_b, rows_a)):
        projection = []
        for i in rows:
            near = [base[i, j] for j in rows if not (leave_one_out and j == i)]
            projection.append(np.mean(near) - np.mean([base[i, j] for j in other]))
        spread += float(np.std(projection, ddof=ddof))
    return spread


def fsm_in_feature_space(K, y, ddof=1):
    """Binary FSM with explicit vectors: means, unit direction, projections, standard deviations."""
    Phi = embed(K)
    a, b = members(y)
    difference = Phi[a].mean(axis=0) - Phi[b].mean(axis=0)
    length = float(np.sqrt(difference @ difference))
    along = Phi @ (difference / length)
    return float((np.std(along[a], ddof=ddof) + np.std(along[b], ddof=ddof)) / length)


def fsm_loo(K, y, ddof=1, aggregate="mean"):
    """FSM with every point left out of its own class mean, on the centred kernel."""
    return fsm(K, y, ddof, aggregate, leave_one_out=True)


def bound_of(F):
    """F^2 / (1 + F^2), 1 at infinity."""
    return 1.0 if np.isinf(F) else F**2 / (1 + F**2)


def fsm_error_bound(K, y, ddof=1):
    """F^2/(1+F^2), or the union bound sum_a (n_a/n) min(1, sum_{b != a} F_ab^2/(1+F_ab^2))."""
    F = fsm_pairwise(K, y, ddof)
    total = 0.0
    for a, rows in enumerate(members(y)):
        union = sum(bound_of(F[a, b]) for b in range(len(F)) if b != a)
        total += len(rows) / len(K) * min(1.0, union)
    return total


def _fsm_classifier_wrong(K, y, ddof):
    """Which samples of the negative and of the positive class the plane of the bound gets wrong.

    Predict -1 where g = K delta is above t = (s_- gbar_+ + s_+ gbar_-) / (s_+ + s_-). Ties are
    errors, except those of a class without spread: t is then its mean, and the bound holds only
    if its points there are its own.
    """
    g = K @ mean_difference(y)
    negative, positive = members(y)
    s_n, s_p = np.std(g[negative], ddof=ddof), np.std(g[positive], ddof=ddof)
    # all projections of a class are equal, but for rounding in the sums above
    flat_n, flat_p = (np.ptp(g[rows]) <= 1e-13 * np.abs(K).max() for rows in (negative, positive))
    if flat_n and flat_p:
        threshold = (g[negative].mean() + g[positive].mean()) / 2
    else:
        threshold = (s_n * g[positive].mean() + s_p * g[negative].mean()) / (s_n + s_p)
    # A class without spread lies on the threshold once the other has some: its ties are its own.
    wrong_n = (g[negative] <= threshold) & (not flat_n or flat_p)
    wrong_p = (g[positive] >= threshold) & (not flat_p or flat_n)
    return wrong_n, wrong_p


def pairwise_vote_error(K, y, ddof=1):
    """Training error of pairwise voting; a point that does not win all its pairs is an error."""
    errors = 0
    for a, rows in zip(classes_of(y), members(y), strict=True):
        lost = np.zeros(len(rows), dtype=bool)
        for b in classes_of(y):
            if a != b:
                pair = np.flatnonzero(np.isin(y, [a, b]))
                first = np.asarray(y)[pair] == a
                lost |= _fsm_classifier_wrong(K[np.ix_(pair, pair)], first, ddof)[1]
        errors += lost.sum()
    return errors / len(K)


def csm(K, y, form="covariance", ddof=1, c=1.0, normalized=False, aggregate="mean"):
    """Class separability: within-class over between-class spread.

    covariance  c (tr Cov_a + tr Cov_b) / |mu_a - mu_b|^2, pairs of classes aggregated like FSM
    scatter     tr S_W / tr S_B over all classes at once
    """
    if form == "covariance":
        value = _aggregated(_csm_pairwise(K, y, ddof, c), y, aggregate)
    else:
        within, between = scatter_traces(K, y)
        value = within / between if between > 0 else np.inf
    if not normalized:
        return value
    value = np.asarray(value)
    out = np.where(np.isinf(value), 1.0, value / np.where(np.isinf(value), 1.0, 1 + value))
    return out if out.ndim else float(out)


def _distance_squared(K, w):
    # Squared length of sum_i w_i phi_i.
    return float(w @ K @ w)


def _exact_distance_squared(K, w):
    # The same without rounding, for weights that are fractions.
    used = [i for i in range(len(K)) if w[i] != 0]
    return sum(w[i] * w[j] * Fraction(float(K[i, j])) for i in used for j in used)


def class_spread(K, rows):
    """sum over class members of |phi_i - mu_c|^2."""
    spread = 0.0
    for i in rows:
        w = np.zeros(len(K))
        w[rows] -= 1 / len(rows)
        w[i] += 1
        spread += _distance_squared(K, w)
    return spread


def scatter_traces(K, y):
    """tr S_W and tr S_B in feature space."""
    within, between, n = 0.0, 0, len(K)
    for rows in members(y):
        within += class_spread(K, rows)
        w = [Fraction(-1, n) + (Fraction(1, len(rows)) if i in rows else 0) for i in range(n)]
        between += len(rows) * _exact_distance_squared(K, w)
    return within, float(between)


def _csm_pairwise(K, y, ddof, c):
    _check_classes(y, ddof)
    groups = members(y)
    M = np.zeros((len(groups), len(groups)))
    for a, rows_a in enumerate(groups):
        for b, rows_b in enumerate(groups):
            if a == b:
                continue
            spread = sum(class_spread(K, r) / (len(r) - ddof) for r in (rows_a, rows_b))
            distance = _distance(K, rows_a, rows_b)
            M[a, b] = c * spread / distance if distance > 0 else np.inf
    return M


def fsm_regression(K, values):
    """sqrt(1/rho^2 - 1), rho = corr of y with the projections on sum_i (y_i - ybar) phi_i."""
    rho = regression_correlation(K, values)
    return np.inf if rho == 0 else float(np.sqrt(max(1 / rho**2 - 1, 0.0)))


def regression_correlation(K, values):
    """corr(HKHy, y), 0 for a constant K, which has no projections."""
    if tells_nothing(K, "centred"):
        return 0.0
    values = np.asarray(values, dtype=float)
    return float(np.corrcoef(centred(K) @ values, values)[0, 1])


def fsm_regression_error(K, values):
    """1 - rho^2: relative training error of the best line along that direction."""
    return 1 - regression_correlation(K, values) ** 2


def csm_regression(K, values):
    """Scatter form with the projector on the centred values: spread across over along it."""
    y = np.asarray(values, dtype=float) - np.mean(values)
    total = float(np.trace(centering_matrix(len(y)) @ K))
    along = float(y @ K @ y) / float(y @ y)
    return np.inf if tells_nothing(K, "centred") else (total - along) / along


def parzen_error_bound(K, y, definite=True):
    """1 - KTA for a positive semidefinite K, 1 - max(KTA, 0)^2 for one that is not."""
    value = kta(K, np.outer(signs(y), signs(y)))
    return 1 - value if definite else 1 - max(value, 0.0) ** 2


def parzen_training_error(K, y):
    """Share of i with y_i sum_j y_j K_ij <= 0, so that ties are errors."""
    z = signs(y)
    wrong = [z[i] * sum(z[j] * K[i, j] for j in range(len(z))) <= 0 for i in range(len(z))]
    return float(np.mean(wrong))


def jackknife_error(measure, K, y, folds):
    """Standard error from leaving out one fold at a time: sqrt((B-1)/B sum_b (m_b - mean)^2)."""
    names = np.unique(folds)
    left = []
    for b in names:
        rows = np.flatnonzero(np.asarray(folds) != b)
        left.append(measure(K[np.ix_(rows, rows)], np.asarray(y)[rows]))
    return float(np.sqrt((len(names) - 1) / len(names) * np.sum((left - np.mean(left)) ** 2)))
