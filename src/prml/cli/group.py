"""What is here: the table of commands, loaded when called, and the sentence that ends a failure."""

import errno
import os
import signal
import sys
import threading
import traceback
from importlib import import_module
from typing import Any

import click

# name: (module with a click command of the same name, the line that `prml --help` shows).
COMMANDS = {
    "demo": ("prml.cli.demo", "Learn the tags of Debian packages and write a page about it."),
    "fit": ("prml.cli.fit", "Fit a model to a data file and write it to a file."),
    "predict": ("prml.cli.predict", "Label new examples: labels, scores, the best k."),
    "evaluate": ("prml.cli.evaluate", "Score a model on labelled examples."),
    "inspect": ("prml.cli.inspect", "Tell what a model file holds."),
    "report": ("prml.cli.report", "Write a page about a model and how it does."),
    "export": ("prml.cli.export", "Write a model as an ONNX file."),
    "bench": ("prml.cli.bench", "Compare methods by the paper's protocol, and write it up."),
    "datasets": ("prml.cli.datasets", "List the datasets that can be named, or fetch one."),
}

INTERRUPTED = (
    "interrupted; every file is as it was before or complete. The same command starts again; a "
    "benchmark, and a fit with --checkpoint, goes on from where it was."
)
DISK_TROUBLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
BAD_PATH = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)


class ReaderLeft(Exception):
    """The reader of our pipe (`head`, say) has enough: an end, not a failure."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called, so that `--help` is instant."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError as error:  # click would call it a failure
            raise ReaderLeft from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        return getattr(import_module(COMMANDS[name][0]), f"{name}_command")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: prml demo",
)
@click.version_option(package_name="prml", prog_name="prml")
def cli() -> None:
    """Multi-label learning with privileged information."""


def run(argv: list[str]) -> int:
    """Run one command; whatever goes wrong becomes one sentence and an exit code."""
    try:
        _end_like_ctrl_c(signal.SIGTERM)
        code = cli.main(args=argv, prog_name="prml", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except ReaderLeft:
        # The interpreter flushes stdout once more at its end: let that go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except (click.exceptions.Abort, KeyboardInterrupt):
        return _fail(INTERRUPTED, 1)
    except click.ClickException as error:
        return _fail(_with_hint(error), 1 if type(error) is click.ClickException else 2)
    except (ValueError, *BAD_PATH) as error:
        return _fail(_sentence(error), 2)
    except ImportError as error:  # an extra that is not installed
        return _fail(_sentence(error), 1)
    except MemoryError as error:
        told = f"out of memory: {error}" if str(error) else "out of memory"
        return _fail(f"{told.rstrip('.')}; files are as they were before.", 1)
    except Exception as error:  # the last line of defence: a sentence, never a traceback
        return _fail(f"{type(error).__name__}: {_sentence(error)}", 1)


def _end_like_ctrl_c(signal_number: int) -> None:
    """Let a polite kill (batch systems, `timeout`) do what Ctrl-C does: the best model is kept."""
    if threading.current_thread() is not threading.main_thread():
        return

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    if signal.getsignal(signal_number) == signal.SIG_DFL:
        signal.signal(signal_number, interrupt)


def _with_hint(error: click.ClickException) -> str:
    message = error.format_message()
    ctx = getattr(error, "ctx", None)
    if isinstance(error, click.UsageError) and ctx is not None:
        message = f"{message.rstrip('.')}; `{ctx.command_path} --help` tells what is expected."
    return message


def _sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename is not None else ""
        told = f"{where}{error.strerror[0].lower()}{error.strerror[1:]}"
        hint = "; files are as they were before" if error.errno in DISK_TROUBLE else ""
        return f"{told}{hint}."
    return " ".join(str(error).split()) or "no further word on what went wrong."


def _fail(sentence: str, code: int) -> int:
    if os.environ.get("PRML_DEBUG", "0") not in ("", "0"):
        traceback.print_exc()
    print(f"prml: {sentence}", file=sys.stderr)
    return code
