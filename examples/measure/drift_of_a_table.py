"""
Have the new rows drifted?
==========================

A model was trained last year. Are this year's rows still like those it learned from, and if not,
which columns changed? :func:`~gramsmith.drift_test` tests every column and the rows as a whole, and
gives a :class:`~gramsmith.DriftResult`.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import gramsmith as gs

rng = np.random.default_rng(0)


def orders(n, year):
    """Make a table of orders; in the second year some columns come from elsewhere."""
    later = year == 2025
    price = rng.lognormal(3.0, 0.6, n) * (1.25 if later else 1.0)
    shares = [0.5, 0.2, 0.3] if later else [0.6, 0.35, 0.05]
    fails = rng.random(n) < (
        0.2 if later else 0.02
    )  # the sensor of the temperature
    return pd.DataFrame(
        {
            "price": price,
            "paid by": rng.choice(["card", "bank", "wallet"], n, p=shares),
            "weight": rng.gamma(2.0, 1.0, n),
            # the mean stays, the spread doubles
            "days to delivery": rng.normal(4.0, 2.0 if later else 1.0, n),
            "temperature": np.where(fails, np.nan, rng.normal(7.0, 3.0, n)),
            "country": rng.choice(["DE", "FR", "SE", "IN", "US"], n),
        }
    )


before, after = orders(400, 2024), orders(250, 2025)

# %%
# p-values are adjusted for the number of columns: of tables from one source, one comparison in
# twenty would name any column at all.
result = gs.drift_test(before, after, random_state=0)
print(result)

fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.2), layout="constrained")
result.plot(axes[0])
axes[0].set_title("which columns, and how much")
bins = np.linspace(-2, 11, 40)
for table, year in ((before, 2024), (after, 2025)):
    axes[1].hist(
        table["days to delivery"],
        bins,
        density=True,
        alpha=0.6,
        label=str(year),
    )
axes[1].set_title("days to delivery: the same mean")
axes[1].legend()
plt.show()

# %%
# A model that keeps its training rows can be asked instead of the old table; in the shell this is
# ``gramsmith drift model.safetensors new.csv``.
late = before["days to delivery"] + 0.5 * before["weight"] > 5.0
ranking = gs.rank_kernels(
    before, late, kernels=["linear", "rbf"], random_state=0
)
print(gs.drift_test(ranking.best_estimator, after, random_state=0).verdict)
