"""
A model for other programs: ONNX in double precision
====================================================

:func:`~gramsmith.to_onnx` writes a model as a graph of plain float64 operators, which runs
without Python. Runtimes often have a support vector operator of their own, in float32; the
picture shows what single precision costs when features are far from zero.
"""

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
from sklearn.datasets import make_moons

import gramsmith as gs

X, y = make_moons(300, noise=0.2, random_state=0)
offsets = [0.0, 10.0, 100.0, 1e3, 1e4, 1e5]
differences = {"float64, as exported": [], "the same sums in float32": []}
for offset in offsets:
    model = gs.KernelSVC(gs.Gaussian(0.5)).fit(X + offset, y)
    graph = gs.to_onnx(model, X[:1] + offset)
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (there,) = session.run(["decision_function"], {"X": X + offset})
    here = model.decision_function(X + offset)
    a = (X + offset).astype("float32")
    b = model.support_samples_.astype("float32")
    distances = (a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T
    single = (
        np.exp(-np.maximum(distances, 0) / 0.5)
        @ model.coefficients_.astype("float32")
        + model.intercept_
    )
    differences["float64, as exported"].append(
        np.abs(there.ravel() - here).max()
    )
    differences["the same sums in float32"].append(
        np.abs(single.ravel() - here).max()
    )

# %%
fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for name, values in differences.items():
    ax.plot(np.maximum(offsets, 1), np.maximum(values, 1e-17), "o-", label=name)
ax.set(
    xscale="log",
    yscale="log",
    xlabel="distance of the data from zero",
    ylabel="largest difference of decision values",
)
ax.legend()
plt.show()
