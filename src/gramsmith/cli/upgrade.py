"""``gramsmith upgrade``: a model file as this version writes it."""

from __future__ import annotations

from pathlib import Path

import click

from gramsmith.cli.console import Refused, say
from gramsmith.cli.outputs import check_free


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Write there, not in place of MODEL."
)
@click.option("--force", is_flag=True, help="Replace an existing output file.")
@click.option(
    "--no-rows", is_flag=True, help="Leave training rows out, where the model can do without."
)
def upgrade(model: Path, output: Path | None, force: bool, no_rows: bool) -> None:
    """Rewrite a MODEL file of an earlier version.

    Nothing is written unless the new file contains the same model and its estimators predict the
    same for the samples in the file.
    """
    from gramsmith.storage import ModelFormatError, inspect_model, upgrade_model

    if output is not None:
        check_free(output, force=force)
    before = inspect_model(model)
    try:
        count = upgrade_model(model, output, rows=not no_rows)
    except ModelFormatError:
        raise
    except ValueError as error:
        raise Refused(f"--no-rows: {error}") from error
    after = inspect_model(output or model)
    say(
        f"{output or model}: format {before.format_version} -> {after.format_version}, "
        f"the same predictions for {count:,} sample{'s' * (count != 1)} in it."
    )
