"""Small tables as text, for the tests of the command line."""

import numpy as np


def table_text(n=60, seed=0, header="a,b,colour,y"):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    colour = np.where(rng.random(n) < 0.5, "red", "blue")
    y = np.where(X[:, 0] * X[:, 1] > 0, "same", "mixed")
    rows = [f"{a:.6f},{b:.6f},{c},{t}" for (a, b), c, t in zip(X, colour, y, strict=True)]
    return "\n".join([header, *rows]) + "\n"
