import pytest

from gramsmith.solvers.memory import check_memory


def test_what_does_not_fit_is_said_before_the_work():
    check_memory("ridge_loo", 1000, 3, "Use fewer.", memory=2**30)
    check_memory("ridge_loo", 100_000, 3, "Use fewer.", columns=10, memory=2**30)
    with pytest.raises(MemoryError, match="100000 x 100000"):
        check_memory("ridge_loo", 100_000, 3, "Use fewer.", memory=2**30)
    check_memory("ridge_loo", 1000, 3, "Use fewer.")
