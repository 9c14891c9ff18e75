"""scikit-learn's checks of an estimator, in every release that is supported."""

import re
from collections.abc import Callable, Iterable

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import estimator_checks_generator


def scikit_learn_checks(
    estimators: Iterable[BaseEstimator],
    expected: Callable[[BaseEstimator], dict[str, str]] = lambda estimator: {},
    strict: bool = True,
) -> pytest.MarkDecorator:
    """Give a test ``(estimator, check)`` every check once, marked where a failure is expected.

    `parametrize_with_checks` gives some twice and knows nothing of `strict` before 1.8.
    """
    cases = {}
    for given in estimators:
        reasons = expected(given)
        for estimator, check in estimator_checks_generator(given):
            name = check.func.__name__
            options = ",".join(f"{key}={value}" for key, value in check.keywords.items())
            case = re.sub(r"\s", "", f"{estimator}-{name}({options})")
            failing = pytest.mark.xfail(reason=reasons.get(name, ""), strict=strict)
            marks = [failing] if name in reasons else []
            cases[case] = pytest.param(estimator, check, id=case, marks=marks)
    return pytest.mark.parametrize(("estimator", "check"), cases.values())
