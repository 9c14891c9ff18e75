"""Small rankings of random tables, one after the other and by several threads at once."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tools import load


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.filterwarnings("default")
def test_rankings_of_random_tables(threads):
    with ThreadPoolExecutor(threads) as pool:
        results = list(pool.map(lambda i: load.piece(i, seed=threads), range(16)))
    assert [wrong for _, wrong in results if wrong] == []
