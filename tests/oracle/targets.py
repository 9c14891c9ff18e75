"""Target matrices entry by entry from the labels or values; repetition for sample weights."""

import numpy as np


def classes_of(y):
    """The distinct labels in sorted order."""
    return sorted({label.item() if hasattr(label, "item") else label for label in np.asarray(y)})


def signs(y):
    """Binary labels as -1 (smaller label) and +1 (larger label)."""
    _, high = classes_of(y)
    return np.array([1.0 if label == high else -1.0 for label in np.asarray(y)])


def members(y):
    """Row indices of every class, in the order of `classes_of`."""
    return [np.flatnonzero(np.asarray(y) == label) for label in classes_of(y)]


def one_hot(y):
    """Y of shape n x C."""
    Y = np.zeros((len(y), len(classes_of(y))))
    for c, rows in enumerate(members(y)):
        Y[rows, c] = 1.0
    return Y


def mean_difference(y):
    """delta = 1/n- on the negative class, -1/n+ on the positive one."""
    negative, positive = members(y)
    delta = np.zeros(len(y))
    delta[negative] = 1 / len(negative)
    delta[positive] = -1 / len(positive)
    return delta


def target_matrix(y, kind="auto"):
    """T for one of the kinds below; n x n.

    binary            y_i y_j with y = +-1
    imbalanced        u_i u_j with u = 1/n+ on the positive class and -1/n- on the negative one
    simplex           1 within a class, -1/(C-1) between classes
    onehot            1 within a class, 0 between
    balanced          1/n_c within class c, 0 between
    ovr               sum over classes of the +-1 one-vs-rest products
    regression        (y_i - ybar)(y_j - ybar)
    multioutput       the same summed over the columns of y
    multilabel        sum over the columns of the 0/1 matrix y of the +-1 products
    auto              `default_kind`
    """
    y = np.asarray(y)
    n = len(y)
    kind = default_kind(y) if kind == "auto" else kind
    if kind == "regression":
        kind, y = "multioutput", y.reshape(n, 1)
    if kind == "binary":
        return np.outer(signs(y), signs(y))
    if kind == "imbalanced":
        return np.outer(mean_difference(y), mean_difference(y))
    if kind in ("multioutput", "multilabel", "ovr"):
        columns = one_hot(y) if kind == "ovr" else y.astype(float)
        T = np.zeros((n, n))
        for column in columns.T:
            t = column - column.mean() if kind == "multioutput" else 2 * column - 1
            T += np.outer(t, t)
        return T
    C = len(classes_of(y))
    between = {"simplex": -1 / (C - 1), "onehot": 0.0, "balanced": 0.0}[kind]
    T = np.full((n, n), between)
    for rows in members(y):
        for i in rows:
            for j in rows:
                T[i, j] = 1 / len(rows) if kind == "balanced" else 1.0
    return T


def default_kind(y):
    """What "auto" means: strings, booleans and whole numbers are classes, other floats values."""
    y = np.asarray(y)
    if y.ndim == 2:
        return "multilabel" if set(np.unique(y)) <= {0, 1} else "multioutput"
    if y.dtype.kind == "f" and np.any(y != np.round(y)):
        return "regression"
    return "binary" if len(classes_of(y)) == 2 else "simplex"


def as_target(K, T_or_y):
    """T itself if it has the shape of K already, else the default target of labels or values."""
    T_or_y = np.asarray(T_or_y)
    return T_or_y.astype(float) if T_or_y.shape == np.shape(K) else target_matrix(T_or_y)


def repeated_rows(weights):
    """Row indices with row i written weights[i] times: what an integer sample weight means."""
    return np.repeat(np.arange(len(weights)), np.asarray(weights, dtype=int))


def repeat_gram(K, weights):
    """Gram matrix of the repeated sample."""
    rows = repeated_rows(weights)
    return np.asarray(K)[np.ix_(rows, rows)]


def weighted(measure, K, y, weights, **options):
    """Value of a measure on the sample with row i repeated weights[i] times."""
    return measure(repeat_gram(K, weights), np.asarray(y)[repeated_rows(weights)], **options)
