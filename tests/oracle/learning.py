"""Learners and machines the slow way: grids, dense least squares, general-purpose optimisers."""

import numpy as np
from scipy.optimize import minimize, nnls
from scipy.stats import multivariate_normal
from sklearn.svm import SVC

from oracle.measures import PROJECTIONS, alignment, norm
from oracle.targets import as_target, signs


def alignf(kernels, T_or_y, projection="centred"):
    """ALIGNF: v >= 0 minimising |sum_k v_k PK_k - PT|, on the full n^2 equations.

    Returns the weights of unit l2 norm and the alignment they attain.
    """
    P, T = PROJECTIONS[projection], as_target(kernels[0], T_or_y)
    A = np.stack([P(K).ravel() for K in kernels], axis=1)
    v, _ = nnls(A, P(T).ravel())
    mu = v / np.linalg.norm(v)
    return mu, alignment(sum(m * K for m, K in zip(mu, kernels, strict=True)), T, projection)


def inductive_blocks(K, train, y_train, threshold=1e-3):
    """G over all rows from the eigenvectors of K(I,I), eigenvalues above threshold x the largest.

    One feature map psi(x) = alpha^(1/2) D^(-1) V'k(I, x), so G = Psi Psi'. Returns G and the
    number kept.
    """
    y = np.asarray(y_train, dtype=float)
    values, V = np.linalg.eigh(K[np.ix_(train, train)])
    keep = values > threshold * values.max()
    alpha = (V[:, keep].T @ y) ** 2
    Psi = K[:, train] @ V[:, keep] / values[keep] * np.sqrt(alpha)
    return Psi @ Psi.T, int(keep.sum())


def transductive_weights(K, y_train, train, rule="exact", threshold=1e-9):
    """Weights of the eigenvectors of all of K, aligned on the training rows; alpha and V.

    "diagonal": (v'y)^2/(v'v)^2 on those rows; "exact": alpha >= 0 minimising
    |sum alpha_k v_k v_k' - yy'| there.
    """
    y = np.asarray(y_train, dtype=float)
    values, V = np.linalg.eigh(K)
    V = V[:, values > threshold * values.max()]
    R = V[train]
    if rule == "diagonal":
        return np.array([(v @ y) ** 2 / (v @ v) ** 2 for v in R.T]), V
    A = np.stack([np.outer(v, v).ravel() for v in R.T], axis=1)
    return nnls(A, np.outer(y, y).ravel())[0], V


def l2_svm(K, y, C):
    """L2-SVM with bias on K + I/C by scikit-learn's hard-margin SVC: a, bias and |w|^2."""
    z = signs(y)
    Kt = K + np.eye(len(K)) / C
    svc = SVC(kernel="precomputed", C=1e10, tol=1e-12).fit(Kt, z)
    a = np.zeros(len(K))
    a[svc.support_] = np.abs(svc.dual_coef_[0])
    w2 = 2 * a.sum() - (a * z) @ Kt @ (a * z)
    return a, float(svc.intercept_[0]), float(w2)


def l2_svm_decision(K_new, y, a, bias):
    """f(x) = sum_i a_i y_i k(x_i, x) + bias, with K and not K + I/C."""
    return np.asarray(K_new) @ (a * signs(y)) + bias


def enclosing_ball(K, C=np.inf):
    """b and R^2 = max_{b >= 0, 1'b = 1} b'diag(Kt) - b'Kt b for Kt = K + I/C, any diagonal.

    SLSQP finds the support, the equations on that support then give the last digits.
    """
    n = len(K)
    Kt = np.asarray(K, dtype=float) + np.eye(n) / C
    d = np.diag(Kt)
    found = minimize(
        lambda b: b @ Kt @ b - b @ d,
        np.full(n, 1 / n),
        jac=lambda b: 2 * Kt @ b - d,
        bounds=[(0, None)] * n,
        constraints={"type": "eq", "fun": lambda b: b.sum() - 1, "jac": lambda b: np.ones(n)},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    support = np.flatnonzero(found.x > 1e-7)
    while True:
        m = len(support)
        system = np.block(
            [
                [2 * Kt[np.ix_(support, support)], np.ones((m, 1))],
                [np.ones((1, m)), np.zeros((1, 1))],
            ]
        )
        solution = np.linalg.solve(system, np.append(d[support], 1.0))[:m]
        if np.all(solution >= 0):
            break
        support = support[solution > 0]
    b = np.zeros(n)
    b[support] = solution
    return b, float(b @ d - b @ Kt @ b)


def radius_margin(K, y, C):
    """R^2 |w|^2, with its parts: a dict of a, b, bias, w2, r2, rmb, n_support."""
    a, bias, w2 = l2_svm(K, y, C)
    b, r2 = enclosing_ball(K, C)
    support = int(np.sum(a > 1e-8 * a.max()))
    return {"a": a, "b": b, "bias": bias, "w2": w2, "r2": r2, "rmb": w2 * r2, "n_support": support}


def d_radius_margin(K, y, C):
    """dRMB/dK = |w|^2 (diag(b) - bb') - R^2 (a*y)(a*y)', and dRMB/dC."""
    m = radius_margin(K, y, C)
    ay = m["a"] * signs(y)
    G = m["w2"] * (np.diag(m["b"]) - np.outer(m["b"], m["b"])) - m["r2"] * np.outer(ay, ay)
    dC = (m["r2"] * ay @ ay - m["w2"] * (1 - m["b"] @ m["b"])) / C**2
    return G, float(dC)


def rvm_log_evidence(Phi, t, alpha, beta):
    """L = log N(t; 0, I/beta + Phi diag(1/alpha) Phi'); an infinite alpha removes its column."""
    Phi, t, alpha = (np.asarray(v, dtype=float) for v in (Phi, t, alpha))
    C = np.eye(len(t)) / beta
    for phi, a in zip(Phi.T, alpha, strict=True):
        if np.isfinite(a):
            C += np.outer(phi, phi) / a
    return float(multivariate_normal(np.zeros(len(t)), C).logpdf(t))


def logistic_objective(K, y, coefficients, bias, lam, subset=None):
    """H = sum_i [log(1 + e^f_i) - y_i f_i] + (lam/2) a'K_SS a, f = bias + K_:S a, y in {0, 1}."""
    S = np.arange(len(K)) if subset is None else np.asarray(subset, dtype=int)
    y01 = (signs(y) + 1) / 2
    a = np.asarray(coefficients, dtype=float)
    f = bias + K[:, S] @ a
    return float(np.sum(np.logaddexp(0, f) - y01 * f) + lam / 2 * a @ K[np.ix_(S, S)] @ a)


def fit_logistic(K, y, lam, subset=None):
    """Minimiser of `logistic_objective` by BFGS: coefficients, bias, value."""
    S = np.arange(len(K)) if subset is None else np.asarray(subset, dtype=int)
    y01 = (signs(y) + 1) / 2

    def gradient(theta):
        p = 1 / (1 + np.exp(-(theta[0] + K[:, S] @ theta[1:])))
        slope = K[:, S].T @ (p - y01) + lam * K[np.ix_(S, S)] @ theta[1:]
        return np.append(np.sum(p - y01), slope)

    def value(theta):
        return logistic_objective(K, y, theta[1:], theta[0], lam, S)

    found = minimize(
        value, np.zeros(len(S) + 1), jac=gradient, method="BFGS", options={"gtol": 1e-9}
    )
    return found.x[1:], float(found.x[0]), float(found.fun)


def import_vectors(K, y, lam, count):
    """Greedy import points: each step refits with every candidate and keeps the best."""
    chosen, history = [], []
    for _ in range(count):
        scores = {
            i: fit_logistic(K, y, lam, [*chosen, i])[2] for i in range(len(K)) if i not in chosen
        }
        chosen.append(min(scores, key=scores.get))
        history.append(scores[chosen[-1]])
    return chosen, history


def ridge(K, y, lam, intercept=False):
    """Coefficients and bias of min |y - bias - K c|^2 + lam c'Kc, by one linear system."""
    y = np.asarray(y, dtype=float)
    n = len(K)
    if not intercept:
        return np.linalg.solve(K + lam * np.eye(n), y), 0.0
    ones = np.ones((n, 1))
    system = np.block([[K + lam * np.eye(n), ones], [ones.T, np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.append(y, 0.0))
    return solution[:n], float(solution[n])


def ridge_leave_one_out(K, y, lam, intercept=False):
    """Residual y_i - f_{-i}(x_i) of every point, each by a fit without it."""
    y = np.asarray(y, dtype=float)
    residuals = []
    for i in range(len(K)):
        rest = np.delete(np.arange(len(K)), i)
        c, bias = ridge(K[np.ix_(rest, rest)], y[rest], lam, intercept)
        residuals.append(y[i] - bias - K[i, rest] @ c)
    return np.array(residuals)


def perceptron(K, y, passes=100):
    """Dual perceptron without bias: mistake counts, whether it converged."""
    z = signs(y)
    counts = np.zeros(len(z))
    for _ in range(passes):
        clean = True
        for i in range(len(z)):
            if z[i] * sum(counts[j] * z[j] * K[i, j] for j in range(len(z))) <= 0:
                counts[i] += 1
                clean = False
        if clean:
            return counts, True
    return counts, False


def projected_alignment(X, y):
    """max_w (w'Xy)^2 / (|X'w|^2 |y|^2) for X of shape p x m: |Py|^2/|y|^2, P on X's row space."""
    y = np.asarray(y, dtype=float)
    fitted = X.T @ np.linalg.lstsq(X.T, y, rcond=None)[0]
    return float(fitted @ fitted / (y @ y))


def ridge_bounds(K, y, lam):
    """lower, exact, upper by lambda_max, upper by KTA for min_w |y - f|^2 + lam |w|^2."""
    y = np.asarray(y, dtype=float)
    exact = lam * y @ np.linalg.solve(K + lam * np.eye(len(y)), y)
    size, top = float(y @ y), float(np.linalg.eigvalsh(K)[-1])
    lower = lam * size**2 / (y @ K @ y + lam * size)
    upper = size - y @ K @ y / (top + lam)
    by_kta = size * (1 - alignment(K, np.outer(y, y)) * norm(K) / (norm(K) + lam))
    return float(lower), float(exact), float(upper), float(by_kta)
