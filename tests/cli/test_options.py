"""Options about reading, as a record."""

import click
import pytest

from gramsmith.cli.options import TableOptions, reading

OPTIONS = {
    **{"format": None, "delimiter": None, "no_header": False, "drop": ()},
    **{"decimal": None, "thousands": None, "encoding": None, "na": (), "roles": ()},
    **{"comment": None, "sheet": None},
    **{"strings": None, "labels": None, "missing": "impute"},
    **{"max_rows": None, "max_cols": None, "max_bytes": None},
}


def test_options_are_taken_out():
    given = []
    command = reading(lambda how, **others: given.append((how, others)))
    command(**OPTIONS, seed=3)
    assert given == [(TableOptions(**OPTIONS), {"seed": 3})]


@pytest.mark.parametrize("spelling", ["\\t", "tab", "\t"])
def test_tabs_may_be_spelled(tmp_path, spelling):
    (tmp_path / "t.csv").write_text("a\tb\n1\t2\n")
    how = TableOptions(**{**OPTIONS, "delimiter": spelling})
    assert list(how.read(str(tmp_path / "t.csv")).columns) == ["a", "b"]


def test_delimiters_are_one_character(tmp_path):
    with pytest.raises(click.UsageError, match="one character"):
        TableOptions(**{**OPTIONS, "delimiter": "::"}).read(str(tmp_path / "t.csv"))


def test_caps_reach_the_reader(tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\n2\n")
    with pytest.raises(ValueError, match="at most 1 rows"):
        TableOptions(**{**OPTIONS, "max_rows": 1}).read(str(tmp_path / "t.csv"))


def test_roles_are_pairs():
    how = TableOptions(**{**OPTIONS, "roles": ("a=b=category",), "drop": ("c",)})
    assert how.set_roles() == {"c": "drop", "a=b": "category"}
    for pair in ("a", "a=colour"):
        with pytest.raises(click.UsageError, match="COL=ROLE"):
            TableOptions(**{**OPTIONS, "roles": (pair,)}).set_roles()


def test_one_column_per_role():
    how = TableOptions(**{**OPTIONS, "roles": ("a=group", "b=number")})
    assert how.column_of("group") == "a"
    assert how.column_of("group", "a") == "a"
    assert how.column_of("weight") is None
    with pytest.raises(click.UsageError, match="one column as group"):
        how.column_of("group", "c")
