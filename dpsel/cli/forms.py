"""Make Typer commands from records: each field of a record becomes an option.

The words of a command line are also converted here. Typer would do that with pydantic, whose import
alone takes a third of the time of a run on a small table, and whose messages are about inputs and
strings.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cached_property, partial, wraps
from types import UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from dpsel.options import KEY, Option, filled

_WHOLE = re.compile(r"[+-]?[0-9]+")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+")
SHORT = {"--target": "-t", "--k": "-k", "--epsilon": "-e", "--output": "-o", "--quiet": "-q"}
"""Short forms of options, in every command that has the long form."""
_SEVERAL = "; separate names with commas, and give several files as a folder or a quoted glob"
_NO_TABLE = "; this command opens no table, except a public one with --like TABLE"


def form(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes the fields of its records as single options, for Typer.

    Parameters that are not records, such as positional arguments, stay as they are.
    """
    hints = get_type_hints(command, include_extras=True)
    records: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    flat: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in records:
            # Once per record: this takes as long as everything else done for its fields.
            kinds = get_type_hints(records[name])
            flat += [_parameter(about, kinds[about.name]) for about in fields(records[name])]
        else:
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            flat.append(parameter.replace(annotation=hints[name], kind=kind))

    @wraps(command)
    def called(**given: Any) -> None:
        """Put the records together and run the command."""
        groups = {name: filled(kind, given) for name, kind in records.items()}
        taken = {about.name for kind in records.values() for about in fields(kind)}
        rest = {name: value for name, value in given.items() if name not in taken}
        command(**rest, **groups)

    # Typer reads both, and keeps positional arguments only if they agree.
    parameters = sorted(flat, key=lambda parameter: parameter.default is not parameter.empty)
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    return called


def _parameter(about: "Field[Any]", kind: Any) -> inspect.Parameter:
    """Return a field of a record as a parameter for Typer."""
    option: Option = about.metadata[KEY]
    if isinstance(kind, UnionType) and str in get_args(kind):
        # The other types, such as a mapping, are for Python only.
        kind = str | None
    many = get_origin(kind) is tuple
    required = about.default is MISSING
    declared = typer.Option(
        *filter(None, (option.flag, SHORT.get(option.flag))),
        metavar=option.metavar,
        help=option.help,
        rich_help_panel=option.panel,
        show_default=False if required else option.shown,
    )
    default = inspect.Parameter.empty if required else [] if many else about.default
    return inspect.Parameter(
        about.name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=default,
        annotation=Annotated[list[str] if many else kind, declared],
    )


class PlainCommand(TyperCommand):
    """A command whose words are converted here, by the types in its function's signature.

    Limits of numbers and missing values are left to Typer.
    """

    @cached_property
    def _converters(self) -> dict[str, Callable[[Any], Any] | None]:
        """The converter of each parameter except --help; None where Typer converts."""
        kinds = get_type_hints(self.callback, include_extras=True) if self.callback else {}
        return {name: _converter(kind) for name, kind in kinds.items()}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the values of all parameters into the context; return the words left over."""
        given, left, order = self.make_parser(ctx).parse_args(args=args)
        if given.get("config") is not None and not given.get("help"):
            from dpsel.cli.config import read_config

            kinds = get_type_hints(self.callback, include_extras=True)
            given = {**read_config(given["config"], self.params, kinds), **given}

        def turn(parameter: Any) -> tuple[bool, int]:
            place = order.index(parameter) if parameter in order else len(order)
            return not parameter.is_eager, place

        for parameter in sorted(self.get_params(ctx), key=turn):
            try:
                self._put(parameter, ctx, given, left)
            except typer.BadParameter as error:
                missing = [one for one in self.get_params(ctx) if _is_missing(one, ctx, given)]
                if parameter in missing and len(missing) > 1:
                    ctx.fail(f"Missing {_listed([_shown_name(one) for one in missing])}")
                # Name the long option only: Typer would add the short one.
                if parameter.param_type_name == "option":
                    error.param_hint = f"'{parameter.opts[0]}'"
                raise
        if left and not ctx.allow_extra_args:
            tables = any(one.metavar == "TABLE" for one in self.params)
            like = any("--like" in one.opts for one in self.params)
            why = _SEVERAL if tables else _NO_TABLE if like else ""
            ctx.fail(f"Unexpected argument '{left[0]}'{why}")
        return left

    def _put(self, parameter: Any, ctx: Any, given: dict[str, Any], left: list[str]) -> None:
        """Put the value of one parameter into the context."""
        convert = self._converters.get(parameter.name, bool)
        word, _ = parameter.consume_value(ctx, given)
        if convert is None or (parameter.required and parameter.value_is_missing(word)):
            parameter.handle_parse_result(ctx, given, left)
        else:
            _take(parameter, convert, ctx, word)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words after the command's name; brackets mean that one may be left out."""
        options = [self.options_metavar] if self.options_metavar else []
        return [*options, *map(_usage, arguments_of(self.get_params(ctx)))]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help text."""
        with plain_help(self.get_params(ctx)):
            super().format_help(ctx, formatter)


class PlainGroup(TyperGroup, PlainCommand):
    """A group of commands whose own options, such as --help, are converted here too."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help text."""
        with plain_help(self.get_params(ctx)):
            super().format_help(ctx, formatter)


def _is_missing(parameter: Any, ctx: Any, given: dict[str, Any]) -> bool:
    """Return whether a parameter must be given, and is not."""
    value, _ = parameter.consume_value(ctx, given)
    return bool(parameter.required and parameter.value_is_missing(value))


def _shown_name(parameter: Any) -> str:
    """Return an argument as in the help text, and an option by its long name."""
    is_option = parameter.param_type_name == "option"
    return str(parameter.opts[0] if is_option else parameter.metavar).removesuffix("...")


def _listed(names: Sequence[str]) -> str:
    """Return several names with commas and an "and"."""
    return f"{', '.join(names[:-1])} and {names[-1]}"


def help_if_alone(context: typer.Context) -> None:
    """Show the commands."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@contextmanager
def plain_help(parameters: Sequence[Any]) -> Iterator[None]:
    """Make the help show flags without a value, arguments without a type, and defaults in words.

    Typer would show a default that is given in words in parentheses.
    """
    in_words = [one for one in parameters if isinstance(one.show_default, str)]
    defaults = [(one.default, one.show_default) for one in in_words]
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    for argument in arguments_of(parameters):
        argument.display_type_rich = _no_type
    for parameter in in_words:
        parameter.default, parameter.show_default = parameter.show_default, True
    try:
        yield
    finally:
        for parameter, (default, shown) in zip(in_words, defaults, strict=True):
            parameter.default, parameter.show_default = default, shown
        for argument in arguments_of(parameters):
            del argument.display_type_rich


def arguments_of(parameters: Sequence[Any]) -> list[Any]:
    """Return the parameters without a flag."""
    return [one for one in parameters if one.param_type_name == "argument"]


def options_of(parameters: Sequence[Any]) -> list[Any]:
    """Return the parameters with a flag."""
    return [one for one in parameters if one.param_type_name == "option"]


def _usage(argument: Any) -> str:
    """Return an argument as the usage line shows it: `TABLE`, or `[TABLE]` if it is optional."""
    name = str(argument.metavar)
    return name if argument.required or name.startswith("[") else f"[{name}]"


def _no_type(ctx: Any) -> None:
    """Show no type: what an argument takes is said in its help."""


def _take(parameter: Any, convert: Callable[[Any], Any], context: Any, word: Any) -> None:
    """Convert a word or a default, and put it into the context as the parameter's value."""
    try:
        value = None if word is None else convert(word)
    except ValueError as error:
        raise typer.BadParameter(str(error), ctx=context, param=parameter) from None
    if parameter.callback is not None:
        value = parameter.callback(context, parameter, value)
    if parameter.expose_value:
        context.params[parameter.name] = value


def _converter(kind: Any) -> Callable[[Any], Any] | None:
    """Return the converter to a type; None if Typer must convert, as for limited numbers."""
    if get_origin(kind) is Annotated:
        kind, *about = get_args(kind)
        limited = any(info.min is not None or info.max is not None for info in about)
        return None if limited else _converter(kind)
    if get_origin(kind) is list and get_args(kind) == (str,):
        return _texts
    if isinstance(kind, UnionType):
        kinds = [part for part in get_args(kind) if part is not type(None)]
        return _converter(kinds[0]) if len(kinds) == 1 else None
    if isinstance(kind, type) and issubclass(kind, Enum):
        return partial(_choice, kind)
    plain: dict[Any, Callable[[Any], Any]]
    plain = {str: str, bool: bool, int: _whole_number, float: _number}
    return plain.get(kind)


def _texts(given: Any) -> list[str]:
    """Return all values of an option that can be repeated."""
    return [str(word) for word in given]


def _whole_number(given: Any) -> int:
    """Convert a word to a whole number."""
    if isinstance(given, str) and not _WHOLE.fullmatch(given.strip()):
        raise ValueError(f"{given!r} is not a whole number")
    return int(given)


def _number(given: Any) -> float:
    """Convert a word to a number."""
    try:
        if isinstance(given, str) and ("_" in given or not given.isascii()):
            raise ValueError
        return float(given)
    except ValueError:
        comma = isinstance(given, str) and _DECIMAL_COMMA.fullmatch(given.strip())
        remedy = f"; use a decimal point: {given.strip().replace(',', '.')}" if comma else ""
        raise ValueError(f"{given!r} is not a number{remedy}") from None


def _choice(kind: type[Enum], given: Any) -> Enum:
    """Return the choice that a word names."""
    choices = {str(choice.value): choice for choice in kind}
    word = str(given.value) if isinstance(given, Enum) else str(given)
    if word not in choices:
        raise ValueError(f"{word!r} is not one of {', '.join(map(repr, choices))}")
    return choices[word]
