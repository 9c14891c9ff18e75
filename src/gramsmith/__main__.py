"""The command ``gramsmith``: hands over to :mod:`gramsmith.cli` once its extra is installed."""

import sys
from importlib import import_module

# Optional modules, and the extra of gramsmith that brings each.
_EXTRAS = {
    "click": "cli",
    "rich": "cli",
    "jinja2": "cli",
    "pandas": "cli",
    "matplotlib": "cli",
    "pyarrow": "cli",
    "python_calamine": "cli",
    "distributed": "dask",
    "dask": "dask",
    "numba": "fast",
    "onnx": "onnx",
}


def main() -> int:
    """Run the command line and return its exit status.

    A missing optional package ends in one line that says what to install and status 2, never in
    a traceback. Any other import error is a defect and is raised as it is.

    Returns
    -------
    int
        0 when done, 2 for wrong usage or a missing extra.
    """
    try:
        import_module("gramsmith.cli").main(prog_name="gramsmith")
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRAS:
            raise
        extra = _EXTRAS[package]
        print(
            f"gramsmith: this command needs {package}, which is not installed. "
            f'Do this: pip install "gramsmith[{extra}]"',
            file=sys.stderr,
        )
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
