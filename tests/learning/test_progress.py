import golden
import gramsmith as gs
from gramsmith.learning.progress import sweep_progress


def test_nobody_listens():
    assert sweep_progress("x", None, 0) is None


def test_lines_at_every_tenth(capsys):
    tell = sweep_progress("x", None, 1)
    for done in range(1, 101):
        tell(done, 100)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert lines[-1] == "[x] 100 of 100 tiles"


def test_learners_tell_of_their_sweep():
    rows = []
    gs.KernelCombination([gs.Gaussian(1.0), gs.Laplacian()], callback=rows.append).fit(
        golden.X, golden.y
    )
    assert rows[-1]["done"] == rows[-1]["total"] >= 1


def test_learners_tell_of_their_directions(rng):
    rows = []
    X = rng.normal(size=(300, 2))
    gs.SpectralAligner(n_components=3, callback=rows.append).fit(X, X[:, 0] > 0)
    assert rows
