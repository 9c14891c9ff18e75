import gzip
from itertools import islice

import pytest

import gramsmith as gs
from gramsmith.tables.fasta import FastaRecord

TEXT = ">one first site\nACGT\nAC GT\n\n; a comment\n>two\r\nttag*-.\r\n>three|x\nN\n"
RECORDS = [
    FastaRecord("one", "ACGTACGT", "first site"),
    FastaRecord("two", "ttag*-."),
    FastaRecord("three|x", "N"),
]


@pytest.fixture
def write(tmp_path):
    def put(text, name="sites.fa"):
        path = tmp_path / name
        data = text if isinstance(text, bytes) else text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return put


@pytest.mark.parametrize("name", ["sites.fa", "sites.fa.gz"])
def test_plain_and_gzipped(write, name):
    path = write(TEXT, name)
    assert list(gs.read_fasta(path)) == RECORDS
    assert list(gs.read_fasta(str(path))) == RECORDS


def test_gzip_is_seen_from_the_bytes(write):
    path = write(gzip.compress(TEXT.encode()), "sites.fa")
    assert list(gs.read_fasta(path)) == RECORDS


def test_byte_order_mark_and_no_last_line_end(write):
    assert list(gs.read_fasta(write("\ufeff>a\nAC"))) == [FastaRecord("a", "AC")]


def test_records_come_before_the_file_is_read_through(write):
    path = write(">a\nAC\n>b\nGT\n>c\n!!!\n")
    assert [r.identifier for r in islice(gs.read_fasta(path), 2)] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "sites.fa: expected FASTA records, got none"),
        ("\n\n", "got none"),
        ("ACGT\n>a\nAC\n", "line 1: expected a header that starts with '>', got 'ACGT'"),
        ("@read\nACGT\n+\nIIII\n", "line 1: expected a header"),
        (">a\nAC\n>\nGT\n", "line 3: expected a name"),
        (">a\n>b\nGT\n", "line 1: expected a sequence below the header 'a'"),
        (">a\nGT\n\n>b\n", "line 4: expected a sequence below the header 'b'"),
        (">a\nAC\nA1\n", "line 3: .*got '1' at position 2"),
        (">a\nAC\n+\nIIII\n", "line 3: .*got '\\+'"),
        (">a\nAÜ\n", "line 2"),
        (b">a\nA\xff\n", "line 2: expected UTF-8"),
        (b">a\nA\x00\n", "line 2: .*NUL"),
    ],
)
def test_malformed_files_name_the_line(write, text, message):
    with pytest.raises(ValueError, match=message):
        list(gs.read_fasta(write(text)))


@pytest.mark.parametrize("name", ["sites.fa", "sites.fa.gz"])
def test_size_cap_counts_what_comes_out(write, name):
    path = write(">a\n" + "A" * 100_000 + "\n", name)
    with pytest.raises(ValueError, match="at most 50,000 bytes"):
        list(gs.read_fasta(path, max_bytes=50_000))
    assert len(next(gs.read_fasta(path)).sequence) == 100_000


def test_truncated_gzip(write):
    path = write(gzip.compress(TEXT.encode() * 100)[:-20], "sites.fa")
    with pytest.raises(ValueError, match="expected a whole file"):
        list(gs.read_fasta(path))


def test_absent_file(tmp_path):
    with pytest.raises(ValueError, match="does not exist"):
        list(gs.read_fasta(tmp_path / "none.fa"))
