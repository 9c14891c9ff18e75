import numpy as np
import pytest

from gramsmith.kernels.strings import kmers
from gramsmith.kernels.strings.kmers import Numbering, windows


def laid_out(*samples):
    starts = np.concatenate([[0], np.cumsum([len(s) for s in samples])])
    return np.array([c for s in samples for c in s], dtype=np.int32), starts


def pieces(samples, k):
    return [
        (row, place, tuple(s[place : place + k]))
        for row, s in enumerate(samples)
        for place in range(len(s) - k + 1)
        if min(s[place : place + k]) >= 0
    ]


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_windows_stay_inside_samples_and_leave_out_gaps(k):
    samples = [(0, 1, 2, 1), (), (3,), (0, -1, 1, 1, 2), (2, 2)]
    w = windows(*laid_out(*samples), k)
    found = [
        (int(r), int(p), tuple(int(c) for c in w.codes[f : f + k]))
        for r, p, f in zip(w.row, w.place, w.first, strict=True)
    ]
    assert found == pieces(samples, k)


@pytest.mark.parametrize("largest", [1 << 62, 40, 5])
@pytest.mark.parametrize("placed", [False, True])
def test_equal_numbers_mean_equal_pieces(monkeypatch, rng, largest, placed):
    # a small limit forces the replacement of prefixes by ranks
    monkeypatch.setattr(kmers, "LARGEST", largest)
    samples = [tuple(rng.integers(0, 4, size)) for size in rng.integers(0, 12, 20)]
    for k in (1, 3, 5):
        w = windows(*laid_out(*samples), k)
        numbering = Numbering.of([w], k, 4, placed)
        assert bool(numbering.prefixes) >= (largest < 60 and k > 1)
        keys = [(place, word) if placed else word for _, place, word in pieces(samples, k)]
        numbers = numbering(w).tolist()
        assert len(numbering) == len(set(keys)) == len(set(numbers))
        assert len(set(zip(keys, numbers, strict=True))) == len(set(keys))


@pytest.mark.parametrize("largest", [1 << 62, 5])
def test_unseen_pieces_have_no_number(monkeypatch, largest):
    monkeypatch.setattr(kmers, "LARGEST", largest)
    numbering = Numbering.of([windows(*laid_out((0, 1, 1)), 2)], 2, 3)
    assert numbering(windows(*laid_out((0, 1, 0, 2, 1, 1)), 2)).tolist() == [0, -1, -1, -1, 1]


def test_nothing_to_number():
    w = windows(*laid_out((0,), ()), 3)
    numbering = Numbering.of([w], 3, 4)
    assert len(numbering) == 0
    assert numbering(windows(*laid_out((0, 1, 2)), 3)).tolist() == [-1]
