"""A sweep on a cluster: what it costs, by a model of four numbers that are measured here.

    seconds = max(pairs / (cores rate), parcels / scheduler) + bytes / network + start

Run ``python -m benchmarks.cluster_model``: it measures the rate of one core, the tasks per second
of the scheduler and the bytes per second of results, predicts a sweep over n rows on two workers,
runs it against two threads, and prints peak memory per worker beside its bound.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
from distributed import Client, LocalCluster

import gramsmith as gs
from benchmarks.measuring import processor
from gramsmith.gram.dask import PARCEL_BYTES, PARCELS, Dask, pack
from gramsmith.gram.engine import sum_up
from gramsmith.gram.plan import LONGEST, MIB, PIECES, ROWS
from gramsmith.gram.sweep import Forward
from gramsmith.targets import make_target

P = 20


@dataclass(frozen=True)
class Cluster:
    """What a cluster can do.

    Parameters
    ----------
    rate : float
        Pairs per second of one core.
    scheduler : float
        Tasks per second.
    network : float
        Bytes per second into the client.
    start : float
        Seconds for a task to be packed, sent and unpacked.
    """

    rate: float
    scheduler: float = 1000.0
    network: float = 1e9
    start: float = 0.0


def bands(n: int, dtype: type = np.float32) -> tuple[float, float]:
    """Return how many bands a plan has, and the rows of their results, of columns and of rows."""
    blocks = max(1, round(n / ROWS[np.dtype(dtype)]))
    length = min(max(1, blocks // PIECES), LONGEST)
    count = sum(-(-(blocks - i) // length) for i in range(blocks))
    rows = (count + blocks * (blocks + 1) / 2) * n / blocks
    return count, rows


def predict(n: int, cores: int, cluster: Cluster, columns: int = 2) -> dict[str, float]:
    """Return the seconds of a forward sweep of one kernel, and where they go."""
    count, rows = bands(n)
    pairs = n * n / 2
    work = pairs / (cores * cluster.rate)
    received = 8.0 * columns * rows
    parcels = max(min(count, PARCELS * cores), received / PARCEL_BYTES)
    seconds = max(work, parcels / cluster.scheduler, received / cluster.network) + cluster.start
    return {
        "seconds": seconds,
        "work": work,
        "scheduler": parcels / cluster.scheduler,
        "network": received / cluster.network,
        "bands": count,
        "parcels": parcels,
        "seconds per parcel": pairs / cluster.rate / parcels,
        "MiB per band": received / count / MIB,
        "MiB of rows per worker": 2 * 4 * n * P / MIB,
    }


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n rows with labels of a product."""
    X = np.random.default_rng(0).normal(size=(n, P)).astype(np.float32)
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def forward(X: np.ndarray, y: np.ndarray) -> Forward:
    """Return the sweep that is timed."""
    G = gs.Gram(gs.Gaussian(float(np.sqrt(P))), X)
    goal = make_target(y)
    members = tuple(member.for_sweep(G.plan().compiled) for member in G._members)
    return Forward(members, G.plan(), G.dtype, goal.wV, goal.w, np.zeros(1))


def worker_bytes(engine: Dask, task: Forward) -> int:
    """Return what a worker with one thread needs at most, see docs/guide/cluster.rst."""
    sent = sum(array.nbytes for array in pack(task).arrays.values())
    results = (engine.in_flight + 1) * max(PARCEL_BYTES, task.band_bytes)
    return 2 * sent + 2 * task.probe.nbytes + task.worker_bytes + results


def timed(engine: gs.Engine, task: Forward) -> float:
    """Return the seconds of one sweep."""
    begun = time.perf_counter()
    sum_up(engine, task)
    return time.perf_counter() - begun


def scheduler_rate(client: Client, count: int = 2000) -> float:
    """Return how many tasks that do nothing come back per second."""
    client.gather(client.map(lambda i: i, range(20), pure=False))
    begun = time.perf_counter()
    client.gather(client.map(lambda i: i, range(count), pure=False))
    return count / (time.perf_counter() - begun)


def network_rate(client: Client, size: int = 8 * 2**20) -> float:
    """Return bytes per second of results, several at a time."""

    def make(i: int) -> np.ndarray:
        return np.full(size // 8, float(i))

    futures = client.map(make, range(24), pure=False)
    client.gather(client.map(len, futures))
    begun = time.perf_counter()
    client.gather(futures)
    return 24 * size / (time.perf_counter() - begun)


def peak_bytes(client: Client) -> list[int]:
    """Return the largest resident memory that each worker ever had."""

    def peak() -> int:
        import resource

        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    return list(client.run(peak).values())


def main() -> None:
    """Measure, predict, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print(processor(), flush=True)
    small = forward(*data(20_000))
    large = forward(*data(options.n))
    timed(gs.Serial(), small)
    rate = 20_000**2 / 2 / min(timed(gs.Serial(), small) for _ in range(3))
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as c,
        Client(c) as client,
    ):
        engine = Dask(client)
        timed(engine, small)
        base = peak_bytes(client)
        start = min(timed(engine, forward(*data(1000))) for _ in range(3))
        cluster = Cluster(rate, scheduler_rate(client), network_rate(client), start)
        print(
            f"one core {rate / 1e6:.0f} million pairs/s, scheduler {cluster.scheduler:.0f} "
            f"tasks/s, results {cluster.network / 1e6:.0f} MB/s, start {start:.2f} s"
        )
        pairs = [
            (timed(gs.Threads(2), large), timed(engine, large)) for _ in range(options.repeats)
        ]
        threads, there = (min(times) for times in zip(*pairs, strict=True))
        found = predict(options.n, 2, cluster)
        print(f"n = {options.n}, float32, {P} features, {found['bands']:.0f} bands")
        print(f"two threads {threads:.2f} s, two workers {there:.2f} s: {there / threads:.2f} x")
        print(f"model {found['seconds']:.2f} s: {there / found['seconds']:.2f} x")
        peak, bound = max(peak_bytes(client)), max(base) + worker_bytes(engine, large)
        print(f"peak of a worker {peak / MIB:.0f} MiB, bound {bound / MIB:.0f} MiB")
    far = Cluster(rate, cluster.scheduler, 1.25e9, 10.0)
    for n, cores in ((10**6, 16), (10**6, 100), (10**7, 1000)):
        found = predict(n, cores, far)
        shown = ", ".join(f"{name} {value:.3g}" for name, value in found.items())
        print(f"n = {n:.0e} on {cores} cores, 10 Gbit/s: {shown}")


if __name__ == "__main__":
    main()
