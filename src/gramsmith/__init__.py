"""Measure, learn and use kernels.

Nothing in gramsmith holds an n x n matrix unless asked to. Kernels are evaluated tile by tile, and
every measure is a function of three small sums that such a sweep leaves behind::

    labels y ───────────▶ Target: V, M ───────────┐
                              │                   ▼
    data X ──▶ Kernel ──▶   Gram   ══ tiles ══▶ Moments ──▶ Measure ──▶ value
                 ▲            ▲                             │
                 │            └═══════ Adjoint ◀════════════┘
                 │                        │
                 └────────── gradient ◀───┘
                                │
                                ▼
               Learner ──▶ Machine ──▶ Ranking ──▶ Report

* A **Kernel** says how two samples compare; it never sees a label.
* A **Target** turns labels or values into a thin probe V and a contrast M, so that the ideal
  similarity is V M V'.
* A **Gram** is the matrix nobody holds: kernel, data and a plan of tiles.
* **Moments** are what one sweep leaves: P = KV, d = diag K and q = <K, K>, for a list of kernels.
* A **Measure** is one number computed from Moments and Target alone. Its derivative goes back to
  the kernel as data (an **Adjoint**) in a second sweep.
* A **Learner** optimises a measure, an **estimator** predicts, a **ranking** chooses, a **report**
  shows.

Public names are imported on first use, so ``import gramsmith`` costs next to nothing; they are
listed in ``__init__.pyi``.

Examples
--------
>>> import gramsmith as gs
>>> gs.Gaussian(length_scale=2.0)
Gaussian(length_scale=2.0)
"""

from importlib import import_module as _import_module

__version__ = "0.3.0"

# What people type -> the module it comes from, as the stub says it to type checkers: lines such as
# "from gramsmith.gram import Gram as Gram".
with open(f"{__file__}i", encoding="utf-8") as _stub:
    _HOMES = {line.split()[3]: line.split()[1] for line in _stub if line.startswith("from ")}
_PUBLIC = {name: home for name, home in _HOMES.items() if home != __name__}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> object:
    """Import a public name, or a folder of the package, on first use and remember it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'gramsmith' has no attribute {name!r}")
    home = _HOMES[name]
    value = (
        _import_module(f"{home}.{name}")
        if home == __name__
        else getattr(_import_module(home), name)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted({*globals(), *_HOMES})
