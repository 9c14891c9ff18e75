"""
Keep a model in a file that cannot run code
===========================================

:func:`~gramsmith.save_model` writes numbers and names, no code. :func:`~gramsmith.load_model`
brings the model back, and it predicts the same to the last bit. A damaged or forged file raises
:class:`~gramsmith.ModelFormatError` and nothing else.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramsmith as gs

X, y = load_wine(return_X_y=True)
folder = Path(tempfile.mkdtemp())
estimators = [
    gs.KernelSVC(gs.Gaussian(3.0)),
    gs.KernelLogisticRegression(gs.Gaussian(3.0)),
    gs.ImportVectorClassifier(gs.Gaussian(3.0)),
    gs.KernelRidgeClassifier(gs.Linear()),
]
rows = []
for estimator in estimators:
    model = make_pipeline(StandardScaler(), estimator).fit(X, y)
    path = folder / "model.safetensors"
    gs.save_model(model, path)
    again = gs.load_model(path)
    same = np.array_equal(
        again.decision_function(X), model.decision_function(X)
    )
    rows.append(
        (
            type(estimator).__name__,
            f"{path.stat().st_size / 1024:.1f}",
            len(estimator.support_),
            same,
        )
    )

# %%
# Kernel models contain training rows; sparse models contain few of them.
table = pd.DataFrame(
    rows, columns=["estimator", "KiB", "rows kept", "the same bits"]
)
table = table.set_index("estimator")
fig, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
ax.barh(table.index, table["rows kept"])
ax.set_xlabel(f"training rows in the file, of {len(X)}")
ax.invert_yaxis()
plt.show()
table

# %%
# One byte of the file changed, at 200 places, one at a time:
content, answers = (
    path.read_bytes(),
    {"refused": 0, "loads, predicts finite numbers": 0},
)
for place in np.random.default_rng(0).integers(0, len(content), 200):
    path.write_bytes(
        content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :]
    )
    try:
        finite = np.isfinite(gs.load_model(path).decision_function(X)).all()
        answers["loads, predicts finite numbers"] += int(finite)
    except gs.ModelFormatError:
        answers["refused"] += 1
print(answers)
