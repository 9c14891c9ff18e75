"""The command's front door: one line of advice when an extra is missing, the truth otherwise."""

import pytest

from gramsmith import __main__ as front


def missing(package):
    """An importer that behaves as if a package were not installed."""

    def fail(name):
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)

    return fail


@pytest.mark.parametrize(
    ("package", "extra"),
    [("click", "cli"), ("rich.table", "cli"), ("pyarrow", "cli"), ("distributed", "dask")],
)
def test_missing_extra_is_named(monkeypatch, capsys, package, extra):
    monkeypatch.setattr(front, "import_module", missing(package))
    assert front.main() == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert f'pip install "gramsmith[{extra}]"' in captured.err


def test_other_missing_modules_are_defects(monkeypatch):
    monkeypatch.setattr(front, "import_module", missing("gramsmith.nowhere"))
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        front.main()
