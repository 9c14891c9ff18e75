"""
The choice as an estimator
==========================

:class:`~gramsmith.KernelSelector` chooses a kernel inside ``fit``. In cross-validation it chooses
one in every fold, so that the score is that of the whole procedure. The kernel may differ from fold
to fold.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import gramsmith as gs

rng = np.random.default_rng(0)
X = rng.normal(size=(240, 6))
y = X[:, 0] * X[:, 1] > 0.2 * rng.normal(size=240)
kernels = {
    "linear": "linear",
    "quadratic": gs.Polynomial(2),
    "Gaussian 1": gs.Gaussian(1.0),
    "Gaussian 3": gs.Gaussian(3.0),
}
selector = gs.KernelSelector(kernels, random_state=0)
chosen = cross_validate(selector, X, y, cv=4, return_estimator=True)
plain = cross_validate(make_pipeline(StandardScaler(), SVC()), X, y, cv=4)

# %%
table = pd.DataFrame(
    {
        "SVC as it is": plain["test_score"],
        "KernelSelector": chosen["test_score"],
        "kernel chosen": [
            s.ranking_.records[0]["kernel"] for s in chosen["estimator"]
        ],
    },
    index=[f"fold {k + 1}" for k in range(4)],
)
fig, ax = plt.subplots(figsize=(6.5, 2.8), layout="constrained")
table.iloc[:, :2].plot.bar(ax=ax, rot=0)
ax.set(ylim=(0.5, 1), ylabel="accuracy on the fold")
ax.legend(loc="lower right")
plt.show()
table.round(3)

# %%
# Fitted on everything:
print(selector.fit(X, y).best_kernel_)
