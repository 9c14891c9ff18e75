"""The command line: ``rank | predict | score | drift | inspect | upgrade | export | evaluate``.

Results go to the standard output, messages to the standard error. Exit status:

===  ==================================================================================
0    done
1    a defect of gramsmith; with ``GRAMSMITH_DEBUG=1`` it ends in a traceback
2    the command cannot be carried out as written: usage, an output in the way
3    the data or the model file cannot be used; the message names row and column
4    done, but a solver did not converge
5    the memory allowed or present does not suffice
130  interrupted; a partial ranking may be written, and ``--resume`` goes on from there
===  ==================================================================================

Only click is imported here: ``gramsmith --help`` answers before scikit-learn could be loaded.
"""

from __future__ import annotations

import os
import sys

import click

from gramsmith import __version__
from gramsmith.cli import drift, evaluate, export, inspect, predict, rank, score, upgrade
from gramsmith.cli.console import BadData, in_shell, say

DEFECT, USAGE, DATA, MEMORY, INTERRUPTED = 1, 2, 3, 5, 130


# \b keeps click from joining the lines that follow it
HELP = """Measure, learn and use kernels.

\b
gramsmith rank train.csv --target label -o run/
gramsmith predict run/model.safetensors new.csv
gramsmith inspect run/model.safetensors
"""


@click.group(
    help=HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="gramsmith")
def group() -> None:
    """Hold the commands together."""


group.add_command(rank.rank)
group.add_command(predict.predict)
group.add_command(score.score)
group.add_command(drift.drift)
group.add_command(inspect.inspect)
group.add_command(upgrade.upgrade)
group.add_command(export.export)
group.add_command(evaluate.evaluate)


def main(prog_name: str = "gramsmith", args: list[str] | None = None) -> None:
    """Run a command and leave the interpreter with its exit status.

    Parameters
    ----------
    prog_name : str
        How the program is called in messages.
    args : list of str, optional
        Default: the arguments of the process.
    """
    status = run(prog_name, args)
    if status and "pyarrow" in sys.modules:
        # a table that was refused half read: pyarrow's threads still work on the rest, and abort
        # the process if the interpreter is taken down beside them
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(status)
    sys.exit(status)


def run(prog_name: str = "gramsmith", args: list[str] | None = None) -> int:
    """Run a command and return its exit status; errors become one message each."""
    try:
        status = group.main(args=args, prog_name=prog_name, standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()  # here a full disk can still be spoken of
        return status if isinstance(status, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        say("Interrupted.")
        return INTERRUPTED
    except MemoryError as error:
        say(f"Error: {str(error) or 'the memory of this computer does not suffice.'}")
        say("The options are --memory, --jobs and --sample.")
        return MEMORY
    except BrokenPipeError:
        # the reader of our output has left (| head); nothing is wrong, and nothing more to say
        sys.stdout = sys.__stdout__ = None  # type: ignore[misc]
        return 0
    except OSError as error:  # a full disk, a device that is gone: nothing that we could mend
        if is_about_data(error):
            say(f"Error: {error}")
            return DATA
        name = f"{error.filename}: " if error.filename else ""
        say(f"Error: could not read or write: {name}{error.strerror or error}.")
        sys.stdout = sys.__stdout__ = None  # type: ignore[misc]  # nor try again at the exit
        return USAGE
    except ModuleNotFoundError:  # the front door knows which extra brings the module
        raise
    except Exception as error:
        if is_about_data(error):
            say(f"Error: {in_shell(error)}")
            return DATA
        if os.environ.get("GRAMSMITH_DEBUG"):
            raise
        say(
            f"Error: {type(error).__name__}: {error}\nThis is a defect of gramsmith, not of your "
            "command. Set GRAMSMITH_DEBUG=1 and run it again for the traceback to report."
        )
        return DEFECT


def is_about_data(error: Exception) -> bool:
    """Return whether an error speaks of the user's data rather than of a defect of ours."""
    from gramsmith.storage import ModelFormatError
    from gramsmith.tables.streams import DataError

    return isinstance(error, DataError | ModelFormatError | BadData)
