"""
Novelty of a row, and the reasons of a prediction
=================================================

A model predicts any row, also one unlike all of its training rows. It can also report how novel a
row is, and which training rows and columns decide a prediction.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import gramsmith as gs

rng = np.random.default_rng(1)
people = pd.DataFrame(
    {"age": rng.integers(18, 80, 300), "visits": rng.poisson(6, 300)}
)
score = 0.05 * (people["age"] - 45) + 0.3 * (people["visits"] - 6)
buys = np.where(score + 0.7 * rng.normal(size=300) > 0, "buys", "leaves")
model = gs.KernelSelector().fit(people, buys)

# %%
# An age of 500 is answered without a doubt. `novelty` is the share of training rows that are less
# isolated, and `columns_outside` names what is out of range.
asked = pd.DataFrame({"age": [40, 500], "visits": [5, 5]})
for k in range(2):
    row = asked.iloc[[k]]
    print(
        model.predict(row)[0],
        model.novelty(row).round(3)[0],
        model.columns_outside(row)[0],
    )

# %%
# The answer of ridge regression is a weighted sum of the targets of its training rows.
why = model.explain_row(asked.iloc[[0]], rows=6)
print(why)

# %%
# The darker, the less like the rows of training; circled are the rows that the answer for the cross
# rests on.
age, visits = np.meshgrid(np.linspace(0, 110, 80), np.linspace(-4, 22, 80))
grid = pd.DataFrame({"age": age.ravel(), "visits": visits.ravel()})
fig, ax = plt.subplots()
shares = model.novelty(grid).reshape(age.shape)
picture = ax.contourf(
    age, visits, shares, levels=[0, 0.5, 0.9, 0.99, 1.0], cmap="Greys"
)
fig.colorbar(picture, label="novelty")
for name in ("buys", "leaves"):
    ax.scatter(
        people["age"][buys == name],
        people["visits"][buys == name],
        s=8,
        label=name,
    )
near = people.iloc[why.rows]
ax.scatter(
    near["age"], near["visits"], s=120, facecolors="none", edgecolors="red"
)
ax.scatter(asked["age"][:1], asked["visits"][:1], marker="x", color="red")
ax.set(xlabel="age", ylabel="visits")
ax.legend()
plt.show()
