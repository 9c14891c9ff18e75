"""
From a FASTA file to a family tree
==================================

A string kernel gives a distance between sequences that were never aligned, and a distance gives a
tree. :func:`~gramsmith.read_fasta` reads the file, plain or gzipped.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial.distance import squareform

import gramsmith as gs

rng = np.random.default_rng(4)


def mutated(sequence, changes):
    """Return the sequence with some letters exchanged, and one piece lost."""
    letters = list(sequence)
    for place in rng.integers(0, len(letters), changes):
        letters[place] = rng.choice(list("ACGT"))
    cut = rng.integers(0, len(letters) - 12)
    return "".join(letters[:cut] + letters[cut + rng.integers(0, 12) :])


ancestor = "".join(rng.choice(list("ACGT"), 600))
lines = []
for clan in "ABC":
    founder = mutated(ancestor, 90)
    for branch in "12":
        parent = mutated(founder, 40)
        lines += [
            f">{clan}{branch}{twig}\n{mutated(parent, 15)}" for twig in "xyz"
        ]
path = Path(tempfile.mkdtemp()) / "family.fa"
path.write_text("\n".join(lines))

# %%
names, sequences, _ = zip(*gs.read_fasta(path))
K = gs.Normalized(gs.Spectrum((4, 8)))(list(sequences))
distance = np.sqrt(np.maximum(2 - 2 * K, 0))
np.fill_diagonal(distance, 0.0)

fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
tree = dendrogram(
    linkage(squareform(distance, checks=False), "average"),
    labels=names,
    orientation="left",
    ax=axes[0],
)
order = tree["leaves"][::-1]
axes[0].set_xlabel("distance")
picture = axes[1].imshow(K[np.ix_(order, order)], cmap="cividis")
axes[1].set_xticks(range(18), [names[i] for i in order], rotation=90)
axes[1].set_yticks(range(18), [names[i] for i in order])
fig.colorbar(picture, label="similarity")
plt.show()
