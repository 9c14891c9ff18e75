"""``gramsmith export``: a model for programs without gramsmith."""

from __future__ import annotations

from pathlib import Path

import click

from gramsmith.cli.console import Refused, say
from gramsmith.cli.outputs import check_free


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace an existing output file.")
def export(model: Path, output: Path, force: bool) -> None:
    """Write a MODEL file as an ONNX graph.

    OUTPUT has plain float64 operators and predicts the same in any ONNX runtime. Strings and
    functions of Python are refused.
    """
    from gramsmith.export import NotExportable, to_onnx
    from gramsmith.storage import load_model

    check_free(output, force=force)
    try:
        made = to_onnx(load_model(model), path=output)
    except NotExportable as error:
        raise Refused(f"{model}: {error}") from error
    inputs = ", ".join(value.name for value in made.graph.input)
    outputs = ", ".join(value.name for value in made.graph.output)
    say(f"{output}: from {inputs} to {outputs}. Like the model it holds training rows.")
