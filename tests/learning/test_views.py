import numpy as np
import pytest

import golden
import gramsmith as gs
from gramsmith.learning.views import default_path, is_views, make_bank


def test_what_counts_as_views():
    K = golden.K
    assert is_views((golden.X, golden.X), None)
    assert is_views([K, K], None)
    assert is_views([gs.Gram(gs.Linear(), golden.X)], None)
    assert not is_views(golden.X, None)
    assert not is_views(["ab", "ba"], [gs.Spectrum(2)])
    assert not is_views(golden.X.tolist(), None)


def test_one_x_for_all():
    bank = make_bank([gs.Linear(), ("wide", gs.Gaussian(5.0))], golden.X)
    assert bank.shared
    assert bank.names == ["Linear()", "wide"]


def test_matrices_and_grams():
    bank = make_bank(None, [golden.K, gs.Gram(gs.Gaussian(1.0), golden.X)])
    assert not bank.shared
    assert [type(k).__name__ for k in bank.kernels] == ["Precomputed", "Gaussian"]
    assert bank.names == ["view0", "view1"]


def test_default_path_doubles():
    widths = np.array([k.length_scale for k in default_path(golden.X)])
    np.testing.assert_allclose(widths[:-1] ** 2 / widths[1:] ** 2, 2.0)


def test_bad_banks():
    with pytest.raises(ValueError, match="empty list"):
        make_bank([], golden.X)
    with pytest.raises(ValueError, match="empty list"):
        make_bank(None, ())
    with pytest.raises(ValueError, match="one view per kernel"):
        make_bank([gs.Linear()], (golden.X, golden.X))
    with pytest.raises(ValueError, match="symmetric"):
        make_bank(None, [np.triu(golden.K)])
