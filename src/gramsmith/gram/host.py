"""Host: what the last bits of a sum depend on, besides data, kernels and plan."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib import import_module

import numpy as np
import scipy
from threadpoolctl import threadpool_info

from gramsmith.kernels.compilation import machine_code


def host() -> dict[str, str]:
    """Return versions, kind of processor, BLAS and Numba of this process, as text.

    Two processes that agree in all of it add the same numbers to the same bits.

    Examples
    --------
    >>> sorted(host())
    ['BLAS', 'CPU', 'Python', 'gramsmith', 'numba', 'numpy', 'scipy']
    """
    # Numba may be switched on and off within a process, the rest stays
    return {**_constant(), "numba": machine_code()}


def differences(expected: dict[str, str], found: dict[str, str]) -> list[str]:
    """Return in words where two hosts differ.

    Examples
    --------
    >>> differences({"numpy": "2.4.0", "CPU": "x"}, {"numpy": "2.1.0", "CPU": "x"})
    ['numpy 2.1.0 instead of 2.4.0']
    """
    names = dict.fromkeys([*expected, *found])
    return [
        f"{name} {found.get(name, 'missing')} instead of {expected.get(name, 'none')}"
        for name in names
        if expected.get(name) != found.get(name)
    ]


@cache
def _constant() -> dict[str, str]:
    blas = sorted(
        {
            " ".join(str(lib[name]) for name in ("internal_api", "version", "architecture"))
            for lib in threadpool_info()
            if lib["user_api"] == "blas" and "architecture" in lib
        }
    )
    return {
        "gramsmith": str(import_module("gramsmith").__version__),  # which imports this folder
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "CPU": _processor(),
        "BLAS": ", ".join(blas) or "unknown",
    }


def _processor() -> str:
    """Return the kind of processor: its widest vector instructions, and a short hash of all."""
    known = np.show_config(mode="dicts")["SIMD Extensions"]
    features = [*known.get("baseline", []), *known.get("found", [])]
    code = hashlib.sha256(" ".join(features).encode()).hexdigest()[:6]
    return f"{platform.machine()} {features[-1] if features else 'baseline'} ({code})"
