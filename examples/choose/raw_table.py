"""
A raw table: missing values, texts, dates, decimal commas
=========================================================

Every column is given a role and a kind, which the table of columns shows. The
fitted model takes new rows of the same raw table.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import gramsmith as gs

rng = np.random.default_rng(0)
n = 240
income = rng.uniform(10, 90, n)
since = pd.Timestamp("2022-01-01") + pd.to_timedelta(
    rng.integers(0, 900, n), unit="D"
)
frame = pd.DataFrame(
    {
        "customer_id": 7 * np.arange(n) + 3,
        "income": [f"{v:.1f}".replace(".", ",") for v in income],
        "city": rng.choice(["Oslo", "Rome", "Lima", None], n),
        "since": since.astype(str),
        "note": "imported",
    }
)
bought = np.where((frame["city"] == "Oslo") ^ (income > 50), "yes", "no")
ranking = gs.rank_kernels(
    frame, bought, ["linear", gs.Gaussian(1.0), gs.Gaussian(3.0)]
)

# %%
# What was read:
print(ranking.columns)

# %%
# The verdict, and the predictions for every income in two cities:
print(ranking.verdict)

# %%
fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
for city in ("Oslo", "Rome"):
    new = pd.DataFrame(
        {"income": [f"{v},0" for v in range(10, 90)], "city": city}
    )
    new = new.assign(customer_id=0, since="2023-03-01", note="imported")
    yes = list(ranking.best_estimator.classes_).index("yes")
    ax.plot(
        range(10, 90),
        ranking.best_estimator.predict_proba(new)[:, yes],
        label=city,
    )
ax.set(xlabel="income", ylabel="probability of buying", ylim=(0, 1))
ax.legend()
plt.show()
