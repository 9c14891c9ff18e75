"""
Threads, a cluster, and runs that continue after a crash
========================================================

One thread, several, a Dask cluster or an engine of your own give the same bits. A
:class:`~gramsmith.Journal` keeps finished work, so that an interrupted run continues where it
stopped.
"""

import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from distributed import Client

import gramsmith as gs


class Counting(gs.Engine):
    """An engine of your own: it returns the sums of every block row, in order."""

    bands = 0

    def run(self, task, numbers):
        for number in numbers:
            self.bands += 1
            yield task.band(number)


rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 8))
y = X[:, 0] * X[:, 1] > 0
folder = Path(tempfile.mkdtemp())
kernel = gs.Gaussian(3.0)

# %%
# The same measure, five times. The last one finds the finished work of the one before.
rows = []
with Client(
    processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None
) as client:
    journal = folder / "run.journal"
    for name, engine in {
        "Serial()": gs.Serial(),
        "Threads(2)": gs.Threads(2),
        "an engine of your own": Counting(),
        "Dask(client)": gs.Dask(client),
        "Threads(resume=...)": gs.Threads(resume=gs.Journal(journal)),
        "the same again": None,
    }.items():
        engine = gs.Threads(resume=journal) if engine is None else engine
        start = time.perf_counter()
        value = gs.cka(gs.Gram(kernel, X, engine=engine), y)
        rows.append((name, time.perf_counter() - start, float(value).hex()))
        if engine.journal:
            engine.journal.close()
table = pd.DataFrame(
    rows, columns=["engine", "seconds", "CKA, every bit"]
).set_index("engine")
fig, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
ax.barh(table.index, table["seconds"])
ax.set_xlabel("seconds for 3 000 rows")
ax.invert_yaxis()
plt.show()
table.round(3)

# %%
# A journal belongs to its data. Other data are refused by a :class:`~gramsmith.JournalError`:
try:
    gs.cka(gs.Gram(kernel, X + 1, engine=gs.Threads(resume=journal)), y)
except gs.JournalError as error:
    print(error)
