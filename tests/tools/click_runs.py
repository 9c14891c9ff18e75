"""Commands of click, run in this process with their streams apart."""

from inspect import signature

from click.testing import CliRunner

# before click 8.2 a runner had to be asked for it
APART = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}


def invoke(command, *args):
    """Return the outcome of a command: exit_code, stdout, stderr, exception."""
    return CliRunner(**APART).invoke(command, [str(arg) for arg in args])
