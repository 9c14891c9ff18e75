"""
Calibrated probabilities
========================

Of all days with a 70 % chance of rain it should rain on 70 %. The curves compare predicted
probabilities with frequencies on new samples. ``predict`` and ``predict_proba`` of one estimator
always agree.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import log_loss

import gramsmith as gs

rng = np.random.default_rng(0)


def draw(n):
    X = rng.normal(size=(n, 5))
    chance = 1 / (1 + np.exp(-2.0 * X[:, 0] * X[:, 1] - X[:, 2]))
    return X, rng.random(n) < chance, chance


X, y, _ = draw(400)
X_new, y_new, chance = draw(5000)
kernel = gs.Gaussian(2.0)
models = {
    "logistic": gs.KernelLogisticRegression(kernel),
    "import vectors": gs.ImportVectorClassifier(kernel),
    "relevance vectors": gs.RelevanceVectorClassifier(kernel),
    "Fisher's discriminant": gs.KernelFisherDiscriminant(kernel),
}

# %%
fig, ax = plt.subplots(figsize=(5.6, 5), layout="constrained")
ax.plot([0, 1], [0, 1], color="0.6", lw=1)
for name, model in models.items():
    said = model.fit(X, y).predict_proba(X_new)[:, 1]
    happened, mean = calibration_curve(y_new, said, n_bins=10)
    ax.plot(
        mean,
        happened,
        "o-",
        label=f"{name}: log loss {log_loss(y_new, said):.3f}",
    )
    agree = (said > 0.5) == model.predict(X_new)
    print(
        f"{name:<22} predict agrees with predict_proba on {agree.mean():.1%} of new samples"
    )
ax.set(xlabel="predicted probability", ylabel="frequency on new samples")
ax.legend(title=f"the true chances: log loss {log_loss(y_new, chance):.3f}")
plt.show()

# %%
# The nearer a curve is to the diagonal, the better. The log loss of the true chances is the
# smallest possible.
