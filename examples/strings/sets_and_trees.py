"""
Sets and trees
==============

:class:`~gramsmith.AllSubsets` counts the subsets that two baskets have in common,
:class:`~gramsmith.Subtree` the subtrees that two trees share. Normalised, both are similarities
between 0 and 1.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramsmith as gs

baskets = {
    "breakfast": {"milk", "bread", "jam", "coffee"},
    "no jam": {"milk", "bread", "coffee"},
    "tea": {"milk", "bread", "tea"},
    "party": {"beer", "crisps", "bread"},
    "evening": {"beer", "crisps"},
}
trees = {
    "the cat sleeps": ("S", ("NP", "the", "cat"), ("VP", "sleeps")),
    "the dog sleeps": ("S", ("NP", "the", "dog"), ("VP", "sleeps")),
    "the dog eats": ("S", ("NP", "the", "dog"), ("VP", "eats")),
    "the dog eats fish": (
        "S",
        ("NP", "the", "dog"),
        ("VP", "eats", ("NP", "fish")),
    ),
    "eats the dog fish?": (
        "Q",
        ("VP", "eats", ("NP", "the", "dog"), ("NP", "fish")),
    ),
}
matrices = {
    "AllSubsets": (
        gs.Normalized(gs.AllSubsets())(list(baskets.values())),
        list(baskets),
    ),
    "Subtree (complete)": (
        gs.Normalized(gs.Subtree())(list(trees.values())),
        list(trees),
    ),
    "Subtree (fragments)": (
        gs.Normalized(gs.Subtree(kind="fragment"))(list(trees.values())),
        list(trees),
    ),
}

# %%
fig, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
for ax, (title, (K, names)) in zip(axes, matrices.items()):
    ax.imshow(K, vmin=0, vmax=1, cmap="cividis")
    for (i, j), value in np.ndenumerate(K):
        ax.text(
            j,
            i,
            f"{value:.2f}",
            ha="center",
            va="center",
            color="white" if value < 0.6 else "black",
        )
    ax.set_xticks(range(5), names, rotation=35, ha="right")
    ax.set_yticks(range(5), names)
    ax.set_title(title)
plt.show()
