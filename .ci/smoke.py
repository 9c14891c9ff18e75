"""The main road in an environment that holds few packages: ``python .ci/smoke.py [EXTRA]``.

Measure, learn, use, choose and keep with the base install; then what the extra brings, or the
message that says what to install.
"""

import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

begun = time.perf_counter()
import gramsmith as gs

took = time.perf_counter() - begun
import numpy as np

BROUGHT = {
    "cli": {"click", "rich", "pandas", "pyarrow", "matplotlib", "jinja2"},
    "plot": {"matplotlib", "jinja2", "pandas"},
    "dask": {"distributed"},
    "parquet": {"pyarrow"},
    "fast": {"numba"},
    "onnx": {"onnx"},
}
extra = sys.argv[1] if len(sys.argv) > 1 else None
here = BROUGHT.get(extra, set())


def refused(call, words):
    """Check that a call without its package says what to install."""
    try:
        call()
    except ImportError as error:
        assert words in str(error), str(error)
    else:
        raise AssertionError(f"expected an ImportError that says {words}")


folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
X = rng.normal(size=(120, 4))
y = np.where(X[:, 0] * X[:, 1] > 0, "a", "b")
table = gs.evaluate({"narrow": gs.Gaussian(0.7), "wide": gs.Gaussian(5.0)}, X, y)
assert table["narrow", "cka"].value > table["wide", "cka"].value
learner = gs.TransformLearner().fit(X, y)
model = gs.KernelSVC(learner.kernel_).fit(X, y)
gs.save_model(model, folder / "model.safetensors")
assert (gs.load_model(folder / "model.safetensors").predict(X) == model.predict(X)).all()
ranking = gs.rank_kernels(X, y, n_jobs=1)
assert ranking.estimate.value > 0.6

if "onnx" in here:
    gs.to_onnx(model, X[:1], path=folder / "model.onnx")
elif not find_spec("onnx"):
    refused(lambda: gs.to_onnx(model, X[:1]), "gramsmith[onnx]")
if "matplotlib" in here:
    import matplotlib

    matplotlib.use("Agg")
    ranking.write_html(folder / "report.html")
elif not find_spec("matplotlib"):
    refused(lambda: ranking.write_html(folder / "report.html"), "gramsmith[")
if "distributed" in here:
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster:
        with cluster.get_client() as client:
            near = gs.kta(gs.Gram(gs.Gaussian(), X, engine=client), y)
    assert near == gs.kta(gs.Gram(gs.Gaussian(), X), y)
rows = "\n".join(f"{a},{b},{label}" for (a, b), label in zip(X[:, :2], y, strict=True))
(folder / "t.csv").write_text("a,b,y\n" + rows + "\n")
command = [sys.executable, "-m", "gramsmith", "rank", "t.csv", "--target", "y", "-o", "run"]
done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
if extra == "cli":
    assert done.returncode == 0, done.stderr
    assert (folder / "run" / "report.html").exists()
elif "click" not in here and not find_spec("click"):
    assert done.returncode == 2, done.stderr
    assert "gramsmith[cli]" in done.stderr, done.stderr
light = "import gramsmith, sys; print(len(sys.modules), 'sklearn' in sys.modules)"
count, heavy = subprocess.run(
    [sys.executable, "-c", light], capture_output=True, text=True, check=True
).stdout.split()
assert heavy == "False"
print(
    f"import gramsmith: {1000 * took:.0f} ms, {count} modules; all is well with {extra or 'base'}"
)
