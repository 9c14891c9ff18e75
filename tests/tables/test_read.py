"""Tables of every kind by one door."""

import numpy as np
import pytest

from gramsmith.tables.decide import nearest
from gramsmith.tables.read import Table, guess_format, read_labels, read_table
from gramsmith.tables.streams import DataError

ROWS = "age,Height,city,label\n1,10,Oslo,yes\n2,20,Rome,no\n3,30,Oslo,yes\n"


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(ROWS)
    return path


def test_target_and_inputs(people):
    table = read_table(people, target="label")
    assert list(table.columns) == ["age", "Height", "city"]
    assert table.labels.tolist() == ["yes", "no", "yes"]
    assert (table.n_rows, table.n_columns, table.kind) == (3, 3, "table")
    frame = table.inputs()
    assert frame["age"].tolist() == [1.0, 2.0, 3.0]
    assert frame["city"].tolist() == ["Oslo", "Rome", "Oslo"]
    assert table.take(np.array([2, 0])).labels.tolist() == ["yes", "yes"]


def test_numeric_targets_keep_their_text(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,01\n2,x\n")
    assert read_table(tmp_path / "t.csv", target="y").labels.tolist() == ["01", "x"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": "lable"}, "expected a column 'lable', got none. Did you mean 'label'?"),
        ({"target": "height"}, "Did you mean 'Height'"),
        ({"target": "zzz"}, "The columns are 'age', 'Height'"),
        ({"target": "label", "drop": ["agee"]}, "Did you mean 'age'"),
        ({"target": "label", "drop": ["age", "Height", "city"]}, "at least one input column"),
    ],
)
def test_absent_columns_offer_the_nearest(people, options, words):
    with pytest.raises(DataError) as caught:
        read_table(people, **options)
    assert words in str(caught.value)


def test_dropped_and_kept_as_written(people):
    table = read_table(people, target="label", drop=["city"], texts=["age"])
    assert list(table.columns) == ["age", "Height"]
    assert table.columns["age"].tolist() == ["1", "2", "3"]


def test_one_column_of_strings(tmp_path):
    rows = "".join(f"{i},word{i},{i % 2}\n" for i in range(150))
    (tmp_path / "t.csv").write_text("a,b,y\n" + rows)
    table = read_table(tmp_path / "t.csv", target="y", strings="b")
    assert table.kind == "strings"
    assert table.samples[:2] == ["word0", "word1"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("a.csv", "csv"), ("a.tsv.gz", "tsv"), ("A.CSV", "csv"), ("a.b.parquet", "parquet")),
        *(("a.svm", "svmlight"), ("a.libsvm.gz", "svmlight"), ("a.npz", "npz"), ("a.npy", "npy")),
        *(("a.fasta", "fasta"), ("a.fa.gz", "fasta"), ("a.csv.zst", "csv"), ("a.xlsx", "xlsx")),
    ],
)
def test_formats_by_name(name, kind, tmp_path):
    assert guess_format(tmp_path / name) == kind


@pytest.mark.parametrize("name", ["a", "a.xls", "a.gz", "a.pkl"])
def test_unknown_formats(name, tmp_path):
    with pytest.raises(DataError, match="what format"):
        guess_format(tmp_path / name)


def test_a_format_may_be_named(tmp_path):
    (tmp_path / "data.txt").write_text("a\tb\n1\t2\n")
    assert list(read_table(tmp_path / "data.txt", format="tsv").columns) == ["a", "b"]


def test_matrices(tmp_path):
    X, y = np.arange(6.0).reshape(3, 2), np.array([0, 1, 0])
    np.savez(tmp_path / "a.npz", X=X, y=y)
    table = read_table(tmp_path / "a.npz")
    assert (table.kind, table.n_rows, table.n_columns) == ("matrix", 3, 2)
    assert table.labels.tolist() == [0, 1, 0]
    np.save(tmp_path / "b.npy", X)
    (tmp_path / "labels.csv").write_text("label\nu\nv\nu\n")
    table = read_table(tmp_path / "b.npy", labels=tmp_path / "labels.csv")
    assert table.labels.tolist() == ["u", "v", "u"]
    (tmp_path / "short.csv").write_text("label\nu\n")
    with pytest.raises(DataError, match="3 rows and 1 label"):
        read_table(tmp_path / "b.npy", labels=tmp_path / "short.csv")
    (tmp_path / "c.svm").write_text("1 1:2 2:3\n-1 1:4 2:5\n")
    assert read_table(tmp_path / "c.svm").samples.tolist() == [[2, 3], [4, 5]]


def test_strings_in_npz(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.array(["AC", "GT"]), y=np.array([0, 1]))
    table = read_table(tmp_path / "a.npz")
    assert table.kind == "strings"
    assert table.samples == ["AC", "GT"]


def test_fasta_with_labels(tmp_path):
    (tmp_path / "s.fasta").write_text(">one first\nACGT\nAC\n>two\nGGTT\n")
    (tmp_path / "l.tsv").write_text("id\tlabel\ntwo\tyes\none\tno\n")
    table = read_table(tmp_path / "s.fasta", labels=tmp_path / "l.tsv")
    assert table.samples == ["ACGTAC", "GGTT"]
    assert table.labels.tolist() == ["no", "yes"]
    (tmp_path / "o.csv").write_text("label\nu\nv\n")
    assert read_table(tmp_path / "s.fasta", labels=tmp_path / "o.csv").labels.tolist() == ["u", "v"]
    assert read_table(tmp_path / "s.fasta").labels is None
    (tmp_path / "bad.csv").write_text("id,label\none,no\n")
    with pytest.raises(DataError, match="none for 'two'"):
        read_table(tmp_path / "s.fasta", labels=tmp_path / "bad.csv")
    (tmp_path / "few.csv").write_text("label\nu\n")
    with pytest.raises(DataError, match="2 rows and 1 label"):
        read_table(tmp_path / "s.fasta", labels=tmp_path / "few.csv")


def test_sequences_have_identifiers(tmp_path):
    (tmp_path / "s.fasta").write_text(">one first\nACGT\n>two\nGGTT\n")
    table = read_table(tmp_path / "s.fasta")
    assert table.identifiers == ["one", "two"]
    assert table.take(np.array([1])).identifiers == ["two"]


def test_words_that_mean_missing_may_be_classes(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,NA\n2,none\n3,\n")
    assert read_table(tmp_path / "t.csv", target="y").labels.tolist() == [None, None, None]
    table = read_table(tmp_path / "t.csv", target="y", nominal=True)
    assert table.labels.tolist() == ["NA", "none", None]
    assert table.nominal
    (tmp_path / "s.fasta").write_text(">one\nACGT\n>two\nGGTT\n")
    (tmp_path / "l.csv").write_text("id,kind\none,NA\ntwo,none\n")
    table = read_table(tmp_path / "s.fasta", labels=tmp_path / "l.csv", nominal=True)
    assert (table.labels.tolist(), table.target, table.nominal) == (["NA", "none"], "kind", True)
    assert not read_table(tmp_path / "s.fasta", labels=tmp_path / "l.csv").nominal


def test_labels_belong_to_files_without(people, tmp_path):
    with pytest.raises(DataError, match=r"labels beside a FASTA"):
        read_table(people, target="label", labels=people)
    with pytest.raises(DataError, match="folder"):
        read_table(tmp_path)


def test_label_files(tmp_path):
    (tmp_path / "l.csv").write_text("id,label\na,1\na,2\n")
    with pytest.raises(DataError, match="every identifier once"):
        read_labels(tmp_path / "l.csv", limits=read_limits())
    (tmp_path / "m.csv").write_text("id,label,more\na,1,2\n")
    with pytest.raises(DataError, match="got 3 columns"):
        read_labels(tmp_path / "m.csv", limits=read_limits())


def read_limits():
    from gramsmith.tables.streams import Limits

    return Limits()


def test_hostile_names_are_only_names(tmp_path):
    (tmp_path / "t.csv").write_text('<script>,"=cmd|x",\u202eb,y\n1,2,3,0\n4,5,6,1\n')
    table = read_table(tmp_path / "t.csv", target="y")
    assert list(table.columns) == ["<script>", "=cmd|x", "\u202eb"]


def test_nearest_of_many():
    names = [f"column{i}" for i in range(30)]
    assert nearest("colum7", names).startswith("Did you mean 'column7'")
    assert nearest("§", names).endswith("...")


def test_an_empty_table_has_no_rows():
    assert Table("t").n_rows == 0
