"""Lecture notes on kernels (2012): every formula as a check, with its correction.

Kernels and how they are made are here, the learning algorithms in `lecture_notes_machines`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain, combinations, combinations_with_replacement, product
from math import comb, factorial, prod
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.integrate import quad

import gramsmith as gs
from gramsmith.kernels import Kernel
from papers.experiment import Experiment, Findings, Paper, Run
from papers.figure import Curve, Figure, Panel
from papers.lecture_notes_machines import losses, machines
from papers.record import Record, check, compare

Array = npt.NDArray[Any]
NAME = "lecture-notes"


def kernels(run: Run) -> Findings:
    """Check sections 1 to 2.3: feature maps, closure rules, the gs.Gaussian."""
    rng = run.rng(6)
    records = [_quadratic(rng), *_polynomial_map(rng), *_dimension(), _linear(rng)]
    records += [*_closure(rng), *_gaussian(), _kernel_distance(rng), _conditioning(rng)]
    return Findings(records)


def _quadratic(rng: np.random.Generator) -> Record:
    """Compare the map with sqrt(2) c x_i and the one with sqrt(2c) x_i."""
    c = 3.0
    X = rng.standard_normal((6, 3))

    def features(linear: float) -> Array:
        pairs = np.einsum("ni,nj->nij", X, X).reshape(len(X), -1)
        return np.hstack([pairs, linear * X, np.full((len(X), 1), c)])

    K = gs.Polynomial(degree=2, gamma=1.0, coef0=c)(X)
    right, wrong = (features(s) for s in (np.sqrt(2.0 * c), np.sqrt(2.0) * c))
    note = "√(2c) x_i, not √2 c x_i; c weighs quadratic against linear against constant terms"
    return check(
        "Section 2",
        "features of (x·z + c)²",
        float(np.abs(right @ right.T - K).max()),
        printed=float(np.abs(wrong @ wrong.T - K).max()),
        note=note,
    )


def monomials(d: int, p: int) -> Iterator[tuple[int, ...]]:
    """Yield the exponents (k0, k1, ..., kd) of the monomials of (c + x·z)^p."""
    for chosen in combinations_with_replacement(range(d + 1), p):
        yield tuple(chosen.count(i) for i in range(d + 1))


def _polynomial_map(rng: np.random.Generator) -> list[Record]:
    X, c = rng.standard_normal((5, 3)), 0.7
    worst = 0.0
    for p in (1, 2, 3, 4):
        columns = [
            np.sqrt(factorial(p) / prod(factorial(k) for k in ks) * c ** ks[0])
            * np.prod(X ** np.array(ks[1:]), axis=1)
            for ks in monomials(3, p)
        ]
        F = np.column_stack(columns)
        K = gs.Polynomial(degree=p, gamma=1.0, coef0=c)(X)
        worst = max(worst, float(np.abs(F @ F.T - K).max()))
    note = "√(p!/(k₀!k₁!…k_d!) c^k₀) Π x_i^k_i, for p = 1 to 4"
    return [check("Section 2", "features of (x·z + c)^p", worst, note=note)]


def _dimension() -> list[Record]:
    d = 3
    counts = [len(list(monomials(d, p))) for p in (1, 2, 3, 4)]
    formula = [comb(d + p, p) for p in (1, 2, 3, 4)]
    listed = d * d + d + 1
    gap = float(np.abs(np.subtract(counts, formula)).max())
    note = (
        f"C(d+p, p) counts distinct monomials, {comb(5, 2)} for d = 3, p = 2; the listed "
        f"map has {listed}"
    )
    return [
        check(
            "Section 2", "dimension C(d+p, p)", gap, printed=float(listed - comb(5, 2)), note=note
        )
    ]


def _linear(rng: np.random.Generator) -> Record:
    X = rng.standard_normal((5, 3))
    K = gs.Linear()(X)
    right = float(np.abs(gs.Polynomial(degree=1, gamma=1.0, coef0=0.0)(X) - K).max())
    wrong = float(np.abs(gs.Polynomial(degree=1, gamma=1.0, coef0=1.0)(X) - K).max())
    return check(
        "Section 2", "linear kernel = polynomial, p = 1", right, printed=wrong, note="with c = 0"
    )


def _first(X: Array) -> Array:
    """Return some real-valued function of every sample."""
    return np.asarray(np.sin(X[:, 0]) - X[:, 1])


def _closure(rng: np.random.Generator) -> list[Record]:
    """Section 2.2: smallest eigenvalue of every construction on random points."""
    B = np.cov(rng.standard_normal((3, 10)))
    made: dict[str, Kernel] = {
        "k₁ + k₂": gs.Gaussian(1.0) + gs.Linear(),
        "a k₁": gs.Gaussian(1.0) * 0.5,
        "k₁ k₂": gs.Gaussian(1.0) * gs.Linear(),
        "f(x) f(z)": gs.RankOne(_first),
        "k₃(φ(x), φ(z))": gs.Gaussian(1.0) @ np.tanh,
        "q(k₁)": gs.PolynomialOf(gs.Linear(), [0.5, 0.0, 2.0]),
        "exp(k₁)": gs.Exp(gs.Linear() * 0.3),
        "x'Bz": gs.Bilinear(B),
    }
    X = rng.standard_normal((20, 3))
    records = []
    for name, kernel in made.items():
        K = kernel(X)
        least = float(np.linalg.eigvalsh(K)[0])
        violation = max(-least, 0.0) / float(np.abs(K).max())
        records.append(check("Section 2.2", f"{name} is positive semidefinite", violation))
    note = "B positive semidefinite and a ≥ 0 suffice; Mercer's name stands for Moore and Aronszajn"
    skew = max(float(np.abs(k(X) - k(X).T).max()) for k in made.values())
    records.append(check("Section 2.1", "Gram matrices are symmetric", skew, note=note))
    return records


def _gaussian() -> list[Record]:
    b, t = 0.4, 0.7
    truth = np.exp(2 * b * t)
    right = sum((2 * b * t) ** k / factorial(k) for k in range(15))
    terms = (1.0, 2 * b * t, b**2 * t**2, b**3 * t**3 / 3)
    correct = (1.0, 2 * b * t, 2 * b**2 * t**2, 4 * b**3 * t**3 / 3)
    series = check(
        "Section 2.3",
        "series of exp(2β x·z)",
        abs(right - truth)
        + max(abs(a - (2 * b * t) ** k / factorial(k)) for k, a in enumerate(correct)),
        printed=max(abs(a - (2 * b * t) ** k / factorial(k)) for k, a in enumerate(terms)),
        note="1 + 2βt + 2β²t² + (4/3)β³t³ + …, not β² and β³/3",
    )
    beta, x, z = 0.8, 0.3, 1.1

    def overlap(variance: float) -> float:
        """Integrate the product of two feature functions, scaled to 1 at x = z."""

        def height(w: float, a: float) -> float:
            return float(np.exp(-((w - a) ** 2) / (2 * variance)))

        top = quad(lambda w: height(w, x) * height(w, z), -30, 30)[0]
        return float(top / quad(lambda w: height(w, x) ** 2, -30, 30)[0])

    truth = np.exp(-beta * (x - z) ** 2)
    features = check(
        "Section 2.3",
        "φ(x)(w) = c N(w; x, variance)",
        abs(overlap(1 / (4 * beta)) - truth),
        printed=abs(overlap(1 / beta) - truth),
        note="the variance is 1/(4β), c = (π/β)^{d/4}; with 1/β the kernel is exp(−β d²/4)",
    )
    return [series, features]


def _kernel_distance(rng: np.random.Generator) -> Record:
    X, beta = rng.standard_normal((12, 2)), 0.6
    base = gs.Polynomial(degree=2)
    K = base(X)
    d = np.diag(K)
    expected = np.exp(-beta * (d[:, None] + d - 2 * K))
    ours = gs.GaussianOf(base, length_scale=1 / np.sqrt(2 * beta))(X)
    least = max(-float(np.linalg.eigvalsh(ours)[0]), 0.0)
    error = float(np.abs(ours - expected).max()) + least
    return check("Section 2.3", "Gaussian of a kernel distance", error, note="κ₁(x, z), not κ₁(xz)")


def _conditioning(rng: np.random.Generator) -> Record:
    X = rng.random((40, 2))
    logs = {
        beta: float(np.log10(np.linalg.cond(gs.Gaussian.from_gamma(beta)(X))))
        for beta in (0.1, 1000.0)
    }
    note = (
        f"log₁₀ of the condition number: {logs[0.1]:.1f} at β = 0.1, {logs[1000.0]:.1f} "
        "at β = 1000; "
    )
    note += "β is an inverse squared bandwidth, and the points must be distinct"
    easier = logs[0.1] - logs[1000.0]
    return check(
        "Section 2.3",
        '"separable for any β, easier if it\'s small"',
        max(-easier, 0.0),
        printed=easier,
        note=note,
    )


def support_vectors(run: Run) -> Findings:
    """Count support vectors by beta: the notes say more for small beta, the truth is a valley."""
    rng = run.rng(8)
    n = 200
    X = rng.uniform(-1, 1, (n, 2))
    y = np.where(np.hypot(X[:, 0], X[:, 1]) + 0.1 * rng.standard_normal(n) < 0.75, 1, -1)
    betas = 10.0 ** np.arange(-4, 5)
    counts = [
        len(gs.KernelSVC(gs.Gaussian.from_gamma(b), C=100.0).fit(X, y).support_) for b in betas
    ]
    rising = counts[-1] - min(counts)
    note = "support vectors of 200 for β = 1e-4 … 1e4: " + ", ".join(map(str, counts))
    record = check(
        "Section 2.3",
        '"β small: more support vectors"',
        0.0 if rising > 0 else 1.0,
        printed=float(rising),
        note=note,
    )
    panel = Panel(
        "C = 100, 200 points", "β", "support vectors", [Curve("", betas, counts)], logx=True
    )
    caption = (
        "Many for a small β, where the classes blur, and all of them for a large one, "
        "where every point stands alone."
    )
    figure = Figure(
        "lecture-notes-support-vectors", "Support vectors by β", caption, [panel], columns=1
    )
    return Findings([record], [figure])


def symbolic(run: Run) -> Findings:
    """Check section 2.4: sets, strings and trees."""
    rng = run.rng(9)
    universe = "abcde"
    sets = [frozenset(c for c in universe if rng.random() < 0.6) for _ in range(8)]
    subsets = list(chain.from_iterable(combinations(universe, r) for r in range(len(universe) + 1)))
    phi = np.array([[float(set(a) <= s) for a in subsets] for s in sets])
    K = gs.AllSubsets()(sets)
    gap = float(np.abs(phi @ phi.T - K).max())
    note = "over the subsets of the universe, the empty one included: 2^|x ∩ z|"
    record = check("Section 2.4.1", "all subsets = Π(1 + x_a z_a)", gap, note=note)
    return Findings([record, *_strings(rng), *_longer_strings(rng), *_trees(rng)])


def _strings(rng: np.random.Generator) -> list[Record]:
    texts = ["".join(rng.choice(list("ab"), size=int(m))) for m in rng.integers(1, 12, 30)]
    k = 2
    words = ["".join(w) for w in product("ab", repeat=k)]

    def count(text: str, word: str) -> int:
        return sum(text[i : i + k] == word for i in range(len(text) - k + 1))

    phi = np.array([[count(text, word) for word in words] for text in texts])
    K = gs.Spectrum(k)(texts)
    lengths = float(max(abs(phi[i].sum() - max(len(t) - k + 1, 0)) for i, t in enumerate(texts)))
    return [
        check(
            "Section 2.4.2",
            "k-spectrum with multiplicities",
            float(np.abs(phi @ phi.T - K).max()),
            note="equal substrings in both lists count as the product of their numbers",
        ),
        check(
            "Section 2.4.2",
            "number of substrings |x| − k + 1",
            lengths,
            note="0 for shorter strings; sorting costs O(k n log n) character operations",
        ),
        compare(
            "Section 2.4.2",
            "Spectrum(2) of aaaa and aaa",
            None,
            float(gs.Spectrum(2)(["aaaa"], ["aaa"])[0, 0]),
            digits=0,
        ),
    ]


def _longer_strings(rng: np.random.Generator) -> list[Record]:
    """Check what the notes mention and do not write down: any length, and gaps."""
    texts = ["".join(rng.choice(list("abc"), size=int(m))) for m in rng.integers(1, 9, 14)]

    def substrings(text: str) -> Counter[str]:
        ends = combinations(range(len(text) + 1), 2)
        return Counter(text[i:j] for i, j in ends)

    def subsequences(text: str, p: int, decay: float) -> dict[str, float]:
        weights: dict[str, float] = {}
        for chosen in combinations(range(len(text)), p):
            word = "".join(text[i] for i in chosen)
            weights[word] = weights.get(word, 0.0) + decay ** (chosen[-1] - chosen[0] + 1)
        return weights

    def gap(kernel: Kernel, features: list[Any], weight: float = 1.0) -> float:
        explicit = [
            [sum(f[w] * g.get(w, 0) * weight ** len(w) for w in f) for g in features]
            for f in features
        ]
        return float(np.abs(np.array(explicit) - kernel(texts)).max())

    every = gap(gs.AllSubstrings(decay=0.7), [substrings(text) for text in texts], 0.7)
    with_gaps = max(
        gap(gs.Subsequence(p, decay=0.6), [subsequences(text, p, 0.6) for text in texts])
        for p in (1, 2, 3)
    )
    note = "every occurrence listed, 14 random strings; a suffix tree instead"
    return [
        check("Section 2.4.2", "substrings of any length", every, note=note),
        check(
            "Section 2.4.2",
            "non-contiguous subsequences of 1 to 3 symbols",
            with_gaps,
            note="every choice of positions listed, weight .6 per symbol spanned; a dynamic "
            "programme instead",
        ),
    ]


def _trees(rng: np.random.Generator) -> list[Record]:
    """Check the kernel of trees, which section 2.4 names and does not define."""

    def grow(depth: int) -> Any:
        label = str(rng.choice(["a", "b"]))
        below = int(rng.integers(0, 3)) if depth else 0
        return (label, *(grow(depth - 1) for _ in range(below)))

    def nodes(tree: Any) -> list[Any]:
        return [tree, *chain.from_iterable(nodes(child) for child in tree[1:])]

    trees = [grow(3) for _ in range(12)]
    counts = [Counter(nodes(tree)) for tree in trees]
    explicit = [[sum(f[u] * g[u] for u in f) for g in counts] for f in counts]
    error = float(np.abs(np.array(explicit) - gs.Subtree()(trees)).max())
    note = "a node with everything below it, every pair listed"
    return [check("Section 2.4", "common complete subtrees of labelled trees", error, note=note)]


PAPER = Paper(
    NAME,
    "Kernels (6.867, section 4)",
    "lecture notes",
    "2012",
    "Most formulas hold. Wrong as printed are the quadratic feature map, the series "
    "and the feature "
    "function of the Gaussian, the perceptron's update, and two remarks about the bandwidth.",
    (
        Experiment(NAME, "kernels", "Sections 1 to 2.3", kernels),
        Experiment(NAME, "support-vectors", "Support vectors by bandwidth", support_vectors),
        Experiment(NAME, "symbolic", "Section 2.4, sets, strings, trees", symbolic),
        Experiment(NAME, "machines", "Sections 3 and 5, machines", machines),
        Experiment(NAME, "losses", "Section 4, loss functions", losses),
    ),
)
