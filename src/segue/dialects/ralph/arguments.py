"""The command line of `ralphtool`: its commands and options, its help, and the parser.

It is not click: an agent calls `ralphtool` for every task, and importing click alone takes a seventh of such a call.
"""

from __future__ import annotations

from typing import NamedTuple

from segue.errors import UsageError

_SESSION = {"--session": "ID  instead of RALPH_SESSION"}
_STORY = {**_SESSION, "--story": "ID  instead of RALPH_STORY, or of what next-story set"}


class CommandSpec(NamedTuple):
    summary: str
    positional: tuple[str, ...] = ()
    """Names of the arguments, in their order."""
    options: dict[str, str] = _SESSION
    """Their help. Options with a value begin with its name in capitals; all others are flags."""
    required: tuple[str, ...] = ()
    """Options that must be given."""


VERBS = {
    "session init": CommandSpec(
        "start a session for a change, and claim the change",
        options={"--change": "NAME", "--takeover": "even if another session has the change", **_SESSION},
        required=("--change",),
    ),
    "session next-story": CommandSpec("select the next incomplete story"),
    "session flush": CommandSpec(
        "write what was learned to the change, then end the session",
        options={"--keep": "STORE  also save the session in this store, e.g. journal:PATH", **_SESSION},
    ),
    "session status": CommandSpec("show the session, its claim and its change"),
    "session list": CommandSpec("list the sessions of this machine and the claims here"),
    "session release": CommandSpec(
        "end a claim without flushing; the session stays",
        options={"--change": "NAME  of any session  [default: the change of this session]", **_SESSION},
    ),
    "context": CommandSpec("show all that is needed for the story", options=_STORY),
    "task done": CommandSpec("tick a task of the story", ("ID",), _STORY),
    "status": CommandSpec("show the progress of the change", options=_STORY),
    "learn": CommandSpec("record a learning", ("TEXT",), {"--task": "ID  the task that taught it", **_STORY}),
    "pattern": CommandSpec("record a pattern to follow", ("NAME", "TEXT")),
}
"""What follows `ralphtool agent`."""

RUN = CommandSpec(
    "work through a change, with an agent for every story",
    options={
        "--change": "NAME",
        "--with": 'AGENT  claude, codex, gemini or opencode (with its own options), or "any command"',
        "--verify": "COMMAND  decides whether a story is done  [default: the tests of the project]",
        "--no-verify": "a story is done when its tasks are ticked",
        "--timeout": "TIME  stop an agent, or a verification, that takes longer, e.g. 30m",
        "--idle-timeout": "TIME  stop one that prints nothing for this time, e.g. 10m",
        "--max-retries": "N  retries per story  [default: 3]",
        "--max-stories": "N  stop after N stories; the same command resumes",
        "--commit": "commit the changes of the agent after every story",
        "--reset": "before a retry, put what the failed attempt changed into a git stash; needs --commit",
        "--sandbox": "confine the agent: it can write the project, and cannot read your secrets",
        "--dry-run": "show the remaining stories and the next prompt; change nothing",
        "--takeover": "even if another session has the change",
        "--store": "STORE  where the conversations are saved  [env: SEGUE_STORE]",
    },
    required=("--change",),
)


COMPLETION = CommandSpec("print the completion script for bash, zsh or fish", ("SHELL",), {})

COMMANDS = {"run": RUN, **{f"agent {name}": spec for name, spec in VERBS.items()}, "completion": COMPLETION}
"""All commands, by what follows `ralphtool`."""


def takes_value(spec: CommandSpec, option: str) -> bool:
    """Whether the next argument is the value of this option."""
    return option in spec.options and not spec.options[option][:1].islower()


class ParsedArguments(NamedTuple):
    verb: str
    positional: tuple[str, ...]
    options: dict[str, str]
    """By name; the value of a flag is empty."""


def parse_arguments(args: list[str]) -> ParsedArguments:
    """UsageError for an unknown command or option, or for wrong arguments."""
    called, spec, rest = _find_command(args)
    positional, options = list[str](), dict[str, str]()
    hint = f"ralphtool {called} --help shows the usage; put -- before text that begins with --"
    remaining = iter(rest)
    for argument in remaining:
        option, has_value, value = argument.partition("=")
        if argument == "--":
            positional += remaining
        elif not argument.startswith("--"):
            positional.append(argument)
        elif option not in spec.options:
            raise UsageError(f"there is no option {option}", hint=hint)
        elif not takes_value(spec, option):
            options[option] = ""
        elif has_value or (value := next(remaining, "")):
            options[option] = value
        else:
            raise UsageError(f"{option} needs a value", hint=hint)
    if missing := [option for option in spec.required if option not in options]:
        raise UsageError(f"{missing[0]} is missing", hint=hint)
    name = called.removeprefix("agent ")
    if len(positional) != len(spec.positional):
        expected = " ".join(spec.positional) or "no arguments"
        raise UsageError(f"{name} takes {expected}; {len(positional)} were given", hint=hint)
    return ParsedArguments(name, tuple(positional), options)


def find_help(args: list[str]) -> str | None:
    """The help text, if these arguments ask for it."""
    if not args or args[-1] not in {"-h", "--help"}:
        return None
    try:
        called, spec, _ = _find_command(args[:-1])
    except UsageError:
        return _overview()
    width = max(map(len, spec.options), default=0)
    lines = [f"  {option:{width}}  {meaning}" for option, meaning in spec.options.items()]
    return "\n".join([" ".join(["usage: ralphtool", called, *spec.positional, "…"]), "", spec.summary, "", *lines, ""])


def _overview() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  ralphtool {called:{width}}  {spec.summary}" for called, spec in COMMANDS.items()]
    text = [
        "Work through a change story by story.",
        "",
        f"  ralphtool {'':{width}}  show a board of changes, sessions and stories",
        *lines,
        "",
        "'ralphtool COMMAND --help' shows more. Agents get JSON on stdout, and errors as JSON on stderr;",
        "RALPH_SESSION and RALPH_STORY name the session and the story.",
    ]
    return "\n".join(["usage: ralphtool [COMMAND …]", "", *text, ""])


def _find_command(args: list[str]) -> tuple[str, CommandSpec, list[str]]:
    """The name of the command, its specification, and the arguments after it."""
    for size in (3, 2, 1):
        if (name := " ".join(args[:size])) in COMMANDS:
            return name, COMMANDS[name], args[size:]
    raise UsageError(
        f"there is no command 'ralphtool {' '.join(args[:3])}'", hint="ralphtool --help lists all commands"
    )
