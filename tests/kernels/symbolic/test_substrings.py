from collections import Counter

import numpy as np
import pytest

from gramsmith.kernels.symbolic.substrings import substring_counts


def laid_out(samples):
    starts = np.concatenate([[0], np.cumsum([len(s) for s in samples])])
    return np.array([c for s in samples for c in s], dtype=np.int32), starts


def pieces(sample, cap):
    return Counter(
        tuple(sample[i:j])
        for i in range(len(sample))
        for j in range(i + 1, min(len(sample), i + cap) + 1)
        if min(sample[i:j]) >= 0
    )


@pytest.mark.parametrize("cap", [None, 1, 2, 5])
def test_every_substring_is_in_one_node_with_its_counts(route, rng, cap):
    for _ in range(40):
        samples = [tuple(rng.integers(-1, 2, size)) for size in rng.integers(0, 10, 5)]
        found = substring_counts(*laid_out(samples), cap, 10**6)
        all_pieces = [pieces(s, cap or 99) for s in samples]
        words = set().union(*all_pieces)
        # what two strings share: as many (length, counts) as the nodes tell
        want = Counter(
            (len(word), tuple(p[word] for p in all_pieces))
            for word in words
            if sum(word in p for p in all_pieces) > 1
        )
        got = Counter()
        for column, low, high in zip(
            found.counts.toarray().T, found.shorter, found.longer, strict=True
        ):
            for length in range(low + 1, high + 1):
                got[length, tuple(int(c) for c in column)] += 1
        assert got == want
        # what one string has for itself
        want = Counter()
        for s, p in enumerate(all_pieces):
            for word, times in p.items():
                if sum(word in q for q in all_pieces) == 1:
                    want[s, len(word), times] += 1
        got = Counter()
        for s, low, high, times in zip(*found.single, strict=True):
            for length in range(low + 1, high + 1):
                got[s, length, times] += 1
        assert got == want


def test_too_many_entries_are_refused(route):
    samples = [(0, 1, 0, 1), (0, 1, 0, 1)]
    assert substring_counts(*laid_out(samples), None, 3) is None
    assert substring_counts(*laid_out(samples), None, 100) is not None


def test_repetitive_text_stays_linear(route):
    n = 20_000
    found = substring_counts(*laid_out([(0,) * n, (0,) * (n // 2)]), None, 4 * n)
    assert found.counts.nnz <= 2 * n


def test_nothing_but_gaps(route):
    found = substring_counts(*laid_out([(-1,), ()]), None, 10)
    assert found.counts.shape == (2, 0)
