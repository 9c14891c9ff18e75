"""Drift: two tables, a model with its rows, a model without them, and what cannot be told."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.pipeline import make_pipeline

import gramsmith as gs
from gramsmith.evaluation.permutations import holm
from gramsmith.machines.averages import AveragedClassifier
from gramsmith.tables import TableEncoder

WORDS = ["red", "fox", "blue", "dog", "jumps", "green", "cat", "over", "lazy"]


def table(rng, n, shift=0.0, towns=(0.5, 0.3, 0.2), days=0):
    return pd.DataFrame(
        {
            "size": rng.normal(size=n) + shift,
            "town": rng.choice(["Ulm", "Bern", "Oslo"], n, p=towns),
            "price": rng.exponential(size=n),
            "said": [" ".join(rng.choice(WORDS, 4)) for _ in range(n)],
            "when": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng.integers(0, 90, n) + days, "D"),
            "flag": rng.random(n) < 0.4,
        }
    )


def found(result):
    return {column.name: column for column in result.columns}


def test_which_columns_differ(rng):
    old, new = table(rng, 200), table(rng, 150, 0.8, (0.2, 0.3, 0.5), 60)
    result = gs.drift_test(old, new, random_state=0)
    assert set(result.drifted) == {"size", "town", "when"}
    assert result.pvalue < 0.05 < found(result)["price"].pvalue
    assert [c.name for c in result.columns[:3]] == result.drifted
    medians = old["size"].median(), new["size"].median()
    assert found(result)["size"].change.startswith(f"median {medians[0]:.4g} → {medians[1]:.4g}")
    assert found(result)["town"].change.startswith(("Ulm", "Oslo"))
    assert found(result)["when"].change.startswith("median 2024-0")
    assert found(result)["size"].effect_size > 4 * found(result)["price"].effect_size
    assert list(result.frame()["name"]) == [c.name for c in result.columns]
    assert len(result.plot().patches) == len(result.columns)
    again = gs.drift_test(old, table(rng, 150), random_state=0)
    assert again.drifted == []
    assert again.pvalue > 0.05
    assert "No difference" in again.verdict


def test_a_difference_of_columns_together_alone(rng):
    x = rng.normal(size=(400, 1))
    old = np.hstack([x[:200], x[:200]])
    new = np.hstack([x[200:], -x[200:]])
    result = gs.drift_test(old, new, random_state=0)
    assert result.drifted == []
    assert result.together.pvalue < 0.05
    assert "as a whole" in result.verdict


def test_pvalues_are_those_of_single_tests_adjusted_by_holm(rng):
    old, new = rng.normal(size=(60, 1)), rng.normal(size=(50, 1)) + 0.3
    one = gs.drift_test(old, new, n_permutations=199, random_state=1)
    assert one.together is None
    assert one.pvalue == found(one)["x0"].pvalue
    assert (one.pvalue * 200) == pytest.approx(round(one.pvalue * 200))
    p = rng.random(7)
    k = np.argsort(p)
    expected = np.maximum.accumulate(p[k] * np.arange(7, 0, -1))
    np.testing.assert_allclose(holm(p)[k], np.minimum(expected, 1.0))


def sites(rng, n, first, shift=0.0):
    """Return five rows of each of n sites, which have means of their own."""
    site = np.repeat(np.arange(first, first + n), 5)
    x = rng.normal(size=n)[site - first] + 0.3 * rng.normal(size=5 * n) + shift
    return pd.DataFrame({"site": site, "x": x, "z": rng.normal(size=5 * n)})


def test_whole_groups_are_shuffled(rng):
    old, new = sites(rng, 12, 10), sites(rng, 10, 22)
    options = {"n_permutations": 199, "random_state": 0}
    result = gs.drift_test(old, new, groups="site", **options)
    assert set(found(result)) == {"x", "z"}
    assert result.drifted == []
    pair = old.site, new.site
    rows = [side.drop(columns="site") for side in (old, new)]
    assert str(gs.drift_test(*rows, groups=pair, **options)) == str(result)
    words = [side.assign(site="s" + side.site.astype(str)) for side in (old, new)]
    assert gs.drift_test(*words, groups="site", **options).pvalue == result.pvalue
    arrays = [side.to_numpy() for side in rows]
    assert gs.drift_test(*arrays, groups=pair, **options).pvalue == result.pvalue
    one = gs.drift_test(rows[0][["x"]], rows[1][["x"]], groups=pair, **options).pvalue
    single = gs.drift_test(rows[0][["x"]], rows[1][["x"]], **options).pvalue
    # five rows of a site are nearly one: those of 22 sites tell less than 110 rows
    assert single < one
    far = sites(rng, 10, 22, 3.0)
    assert gs.drift_test(old, far, groups="site", **options).drifted == ["x"]
    model = gs.KernelRidgeRegressor().fit(arrays[0], arrays[0][:, 0])
    against = gs.drift_test(model, arrays[1], groups=pair, **options)
    assert against.pvalue == result.pvalue
    texts = [["a" * (k % 7 + 1) for k in side.site] for side in (old, new)]
    given = gs.drift_test(*texts, groups=pair, **options)
    known = gs.two_sample_test(*texts, groups=pair, **options)
    assert given.pvalue == known.pvalue


def test_many_rows_are_drawn_by_whole_groups(rng, sizes):
    old, new = sites(rng, 40, 0), sites(rng, 30, 40)
    sizes("drift", MOST=60)
    result = gs.drift_test(old, new, groups="site", n_permutations=99, random_state=0)
    assert "60 of 200 old rows were drawn at random." in result.notes
    assert "60 of 150 new rows were drawn at random." in result.notes
    assert result.drifted == []


def test_few_groups_are_noted(rng):
    result = gs.drift_test(sites(rng, 3, 0), sites(rng, 3, 3, 9.0), groups="site", random_state=0)
    assert "in 10 ways that differ, so that p is about 0.1 at least" in " ".join(result.notes)
    assert result.pvalue > 0.05


def test_groups_that_cannot_be_used_are_refused(rng, fitted):
    old, new = sites(rng, 6, 0), sites(rng, 6, 5)
    with pytest.raises(ValueError, match=r"got group '5' in both.*scipy.stats.wilcoxon"):
        gs.drift_test(old, new, groups="site")
    with pytest.raises(ValueError, match=r"both tables as groups, got 'sit'. Did you mean 'site'"):
        gs.drift_test(old, new, groups="sit")
    with pytest.raises(ValueError, match="column of both tables as groups"):
        gs.drift_test(old, new.drop(columns="site"), groups="site")
    with pytest.raises(ValueError, match="Name the column as groups="):
        gs.drift_test(old, new, roles={"site": "group"})
    with pytest.raises(TypeError, match="roles as a dict"):
        gs.drift_test(old, new, roles=7, groups="site")
    gaps = old.assign(site=old.site.where(old.index != 3))
    with pytest.raises(ValueError, match="missing one in row 3"):
        gs.drift_test(gaps, new, groups="site")
    with pytest.raises(ValueError, match="one group per sample"):
        gs.drift_test(old, new, groups=(old.site, new.site[:-1]))
    table, fit = fitted
    rest = np.arange(len(table))
    svc, ridge = fit(gs.KernelSVC(gs.Gaussian(10.0))), fit(gs.KernelRidgeClassifier())
    for model, groups in ((svc, (rest, rest + 200)), (svc, "town"), (ridge, "town")):
        with pytest.raises(ValueError, match="Compare with the training table"):
            gs.drift_test(model, table, groups=groups)


def test_a_spread_that_changes_more_than_the_middle_is_shown(rng):
    z = np.linspace(-2.0, 2.0, 401)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(401), "D")
    old = pd.DataFrame({"pressure": z, "level": z, "when": days})
    late = days[0] + pd.to_timedelta(150 + np.arange(401) // 4, "D")
    new = pd.DataFrame({"pressure": 2.5 * z, "level": z + 1.0, "when": late})
    columns = found(gs.drift_test(old, new, n_permutations=39, random_state=0))
    assert columns["pressure"].change == "median 0 → 0, IQR 2 → 5"
    assert columns["level"].change == "median 0 → 1"
    assert columns["when"].change == "median 2024-07-19 → 2024-07-19, IQR 200 → 50 days"


def test_types_that_changed_and_columns_of_one_table(rng):
    old, new = table(rng, 150), table(rng, 120)
    new = new.drop(columns="flag").assign(extra=1.0)
    new["size"] = new["size"].astype(str)
    new.loc[5, "size"] = "broken"
    result = gs.drift_test(old.assign(one=2.0), new.assign(one=3.0), random_state=0)
    assert result.drifted == ["one"]  # constant before, another constant now
    notes = " ".join(result.notes)
    assert "Only in the old rows: 'flag'" in notes
    assert "Only in the new rows: 'extra'" in notes
    assert "broken" in notes
    assert found(result)["size"].kind == "number"
    unread = found(gs.drift_test(old, new.assign(price="unknown"), random_state=0))["price"]
    assert unread.change == "missing 0% → 100%"
    gaps = new.assign(price=np.where(rng.random(120) < 0.3, np.nan, new.price))
    change = found(gs.drift_test(old, gaps, random_state=0))["price"]
    assert "missing 0% → " in change.change
    assert change.pvalue < 0.05


def test_identifiers_and_dropped_columns_are_left_out(rng):
    old = table(rng, 80).assign(id=np.arange(1, 81))
    new = table(rng, 60).assign(id=np.arange(81, 141))
    result = gs.drift_test(old, new, roles={"said": "drop"}, random_state=0)
    assert not {"id", "said"} & set(found(result))
    assert "identifiers: 'id'" in " ".join(result.notes)
    with pytest.raises(ValueError, match="none in common"):
        gs.drift_test(old[["size"]], new[["town"]])


@pytest.fixture
def fitted(rng):
    old = table(rng, 200)
    y = np.where(old["size"] + (old.town == "Ulm") > 0.5, "a", "b")
    return old, lambda machine: make_pipeline(TableEncoder(), machine).fit(old, y)


@pytest.mark.parametrize("average", [False, True])
def test_against_a_model_with_its_rows(rng, fitted, average):
    _, fit = fitted
    model = fit(gs.KernelRidgeClassifier(gs.Gaussian()))
    if average:
        model = AveragedClassifier.of([model, model], [0.5, 0.5])
    new = table(rng, 150, 0.8)
    new.loc[:9, "town"] = "Rom"
    result = gs.drift_test(model, new.assign(extra=1), random_state=0)
    assert "size" in result.drifted
    assert found(result)["town"].change.startswith("never seen before: 7%")
    assert "said" not in found(result)
    notes = " ".join(result.notes)
    assert "texts that were encoded by the training rows: 'said'" in notes
    assert "'extra'" in notes
    assert gs.drift_test(model, table(rng, 150), random_state=0).drifted == []


def test_rare_categories_of_training_are_as_good_as_unseen(rng):
    def names(n):
        return pd.DataFrame(
            {"name": [f"{w}" for w in rng.integers(0, 400, n)], "x": rng.normal(size=n)}
        )

    roles = {"name": "category"}
    old = names(200)
    model = make_pipeline(TableEncoder(roles=roles), gs.KernelRidgeClassifier())
    model.fit(old, old.x > 0)
    assert gs.drift_test(model, names(200), random_state=0).drifted == []


@pytest.mark.parametrize("kind", ["some", "none"])
def test_a_model_without_rows_says_what_it_cannot_tell(rng, fitted, tmp_path, kind):
    old, fit = fitted
    if kind == "some":
        model = fit(gs.KernelSVC(gs.Gaussian(10.0)))
        assert len(model[-1].support_) < 200
    else:
        gs.save_model(fit(gs.KernelRidgeClassifier(gs.Linear())), tmp_path / "m", rows=False)
        model = gs.load_model(tmp_path / "m")
    new = table(rng, 150, 0.5, (0.0, 0.3, 0.7))
    new.loc[0, "town"] = "Rom"
    result = gs.drift_test(model, new)
    assert result.together is None
    assert result.drifted == ["size"]
    columns = found(result)
    assert columns["town"].pvalue is None
    assert columns["town"].change == "never seen before: 1%, such as 'Rom'"
    assert columns["flag"].change == f"True {old.flag.mean():.0%} → {new.flag.mean():.0%}"
    assert columns["when"].pvalue is columns["said"].pvalue is None
    assert "cannot be tested" in " ".join(result.notes)
    z = (new["size"] - old["size"].mean()) / old["size"].std(ddof=0)
    known = {"mean2": 0.0, "std2": 1.0, "nobs2": 200, "equal_var": False}
    p = stats.ttest_ind_from_stats(z.mean(), z.std(ddof=1), 150, **known).pvalue
    assert columns["size"].effect_size == pytest.approx(abs(z.mean()), rel=1e-9)
    assert columns["size"].pvalue == pytest.approx(3 * p, rel=1e-9)  # size, price, flag


def test_matrices_texts_and_models_of_them(rng):
    X, Z = rng.normal(size=(120, 3)), rng.normal(size=(90, 3)) + np.eye(3)[1]
    assert gs.drift_test(X, Z, random_state=0).drifted == ["x1"]
    assert gs.drift_test(X[:, 1], Z[:, 1], random_state=0).drifted == ["x0"]
    series = [pd.Series(side[:, 1] > 0, name="up") for side in (X, Z)]
    assert gs.drift_test(*series, random_state=0).drifted == ["up"]
    model = gs.KernelRidgeRegressor(gs.Gaussian()).fit(X, X[:, 0])
    assert gs.drift_test(model, Z, random_state=0).drifted == ["x1"]
    words = ["".join(rng.choice(list("ab"), 8)) for _ in range(40)]
    other = ["".join(rng.choice(list("abc"), 8)) for _ in range(40)]
    result = gs.drift_test(words, other, random_state=0)
    assert result.pvalue < 0.05
    assert result.together.pvalue == gs.two_sample_test(words, other, random_state=0).pvalue
    model = gs.KernelRidgeRegressor(gs.Spectrum(2)).fit(words, np.arange(40.0))
    assert gs.drift_test(model, other, random_state=0).pvalue < 0.05


def test_many_rows_and_columns_are_drawn(rng):
    X = rng.normal(size=(30_000, 2))
    result = gs.drift_test(X, X[:25_000] + np.array([0.1, 0.0]), n_permutations=199, random_state=0)
    assert result.drifted == ["x0"]
    assert (result.n_reference, result.n_new) == (30_000, 25_000)
    assert "20,000 of 30,000 old rows were drawn at random." in result.notes


def test_what_is_none_of_these_is_refused(rng):
    from sklearn.linear_model import LinearRegression

    X = rng.normal(size=(20, 2))
    with pytest.raises(TypeError, match="fitted model of gramsmith"):
        gs.drift_test(LinearRegression().fit(X, X[:, 0]), X)
    svc = gs.KernelSVC(gs.Gaussian()).fit(X, X[:, 0] > 0)
    if len(svc.support_) < 20:
        with pytest.raises(ValueError, match="keeps its training rows"):
            gs.drift_test(svc, X)
    with pytest.raises(ValueError, match="n_permutations"):
        gs.drift_test(X, X, n_permutations=0)
    model = gs.KernelRidgeRegressor().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="no roles for a model"):
        gs.drift_test(model, X, roles={"x0": "drop"})
    frame = pd.DataFrame({"town": ["Ulm", "Bern"] * 10, "x": X[:, 0]})
    table = make_pipeline(TableEncoder(), gs.KernelSVC()).fit(frame, X[:, 0] > 0)
    for few in (0, 1):
        for old, new in ((X, X), (model, X), (frame, frame), (["a", "b"], ["a", "b"])):
            with pytest.raises(ValueError, match="at least 2 old and 2 new rows"):
                gs.drift_test(old, new[:few])
        with pytest.raises(ValueError, match="at least 2 old and 2 new rows"):
            gs.drift_test(table, frame[:1])


@pytest.mark.parametrize(
    "odd",
    [[{}], object(), [[1.0, 2.0], [3.0]], 10**400],
    ids=["dict", "object", "ragged", "huge"],
)
def test_what_is_no_table_is_refused(odd):
    with pytest.raises((TypeError, ValueError), match="Expected"):
        gs.drift_test(odd, np.ones((5, 2)))
