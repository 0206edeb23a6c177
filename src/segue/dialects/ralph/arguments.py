"""The words of the command line: what there is to say, and what was said. By hand, since every millisecond counts."""

from __future__ import annotations

from typing import NamedTuple

from segue.errors import UsageError

_SESSION = {"--session": "ID  instead of RALPH_SESSION"}
_STORY = {**_SESSION, "--story": "ID  instead of RALPH_STORY, or of what next-story set"}


class CommandSpec(NamedTuple):
    about: str
    takes: tuple[str, ...] = ()
    """Words in their order."""
    options: dict[str, str] = _SESSION
    """What each means; those with a value begin with the name of it."""
    needs: tuple[str, ...] = ()
    """Options that cannot be left out."""


VERBS = {
    "session init": CommandSpec(
        "begin a session for a change, and claim the change",
        options={"--change": "NAME", "--takeover": "also if another session has the change", **_SESSION},
        needs=("--change",),
    ),
    "session next-story": CommandSpec("the next story that is not complete"),
    "session flush": CommandSpec(
        "write learnings and patterns to the change, then end the session",
        options={"--keep": "STORE  keep the session in a lasting store, as journal:PATH", **_SESSION},
    ),
    "session status": CommandSpec("the session, its claim and its change"),
    "session list": CommandSpec("all sessions of this machine and all claims in this project"),
    "session release": CommandSpec(
        "end a claim without flushing; the session stays",
        options={"--change": "NAME  whoever has it; else the session's own", **_SESSION},
    ),
    "context": CommandSpec("what the story is about: tasks, scenarios, documents, learnings, patterns", options=_STORY),
    "task done": CommandSpec("tick a task of the story", ("ID",), _STORY),
    "status": CommandSpec("how far the change is", options=_STORY),
    "learn": CommandSpec(
        "record something learned", ("TEXT",), {"--task": "ID  the task it was learned from", **_STORY}
    ),
    "pattern": CommandSpec("record a pattern worth following", ("NAME", "TEXT")),
}
"""What follows `ralphtool agent`."""

RUN = CommandSpec(
    "work through a change: an agent for every story, verified, retried, committed",
    options={
        "--change": "NAME",
        "--with": 'AGENT  claude, codex, gemini or opencode (with options of its own), or "any command"',
        "--verify": "COMMAND  decides whether a story is done, as in 'pytest -q'",
        "--max-retries": "N  how often a story is tried again (3)",
        "--max-stories": "N  stop after so many; the same command goes on",
        "--commit": "commit what the agent changed after every story",
        "--sandbox": "let the kernel hold the agent: it writes the project, and reads no secrets of yours",
        "--dry-run": "show what is left to do and what the agent would be told; change nothing",
        "--takeover": "also if another session has the change",
        "--store": "STORE  where the conversations are kept (SEGUE_STORE, else the one of segue)",
    },
    needs=("--change",),
)


class ParsedArguments(NamedTuple):
    verb: str
    words: tuple[str, ...]
    options: dict[str, str]
    """By name; those without a value are empty."""


def read(args: list[str]) -> ParsedArguments:
    """UsageError where it is nothing that can be done."""
    called, verb, rest = _verb_of(args)
    words, options = list[str](), dict[str, str]()
    hint = f"ralphtool {called} --help shows how; text that begins with -- stands behind a --"
    ahead = iter(rest)
    for word in ahead:
        option, has_value, value = word.partition("=")
        if word == "--":
            words += ahead
        elif not word.startswith("--"):
            words.append(word)
        elif option not in verb.options:
            raise UsageError(f"there is no option {option}", hint=hint)
        elif verb.options[option][:1].islower():
            options[option] = ""
        elif has_value or (value := next(ahead, "")):
            options[option] = value
        else:
            raise UsageError(f"{option} needs a value", hint=hint)
    if missing := [option for option in verb.needs if option not in options]:
        raise UsageError(f"{missing[0]} is missing", hint=hint)
    name = called.removeprefix("agent ")
    if len(words) != len(verb.takes):
        raise UsageError(f"{name} takes {' '.join(verb.takes) or 'no words'}; {len(words)} were given", hint=hint)
    return ParsedArguments(name, tuple(words), options)


def help_of(args: list[str]) -> str | None:
    """The help that is asked for, if it is."""
    if not args or args[-1] not in {"-h", "--help"}:
        return None
    try:
        called, verb, _ = _verb_of(args[:-1])
    except UsageError:
        return _overview()
    width = max(map(len, verb.options))
    lines = [f"  {option:{width}}  {meaning}" for option, meaning in verb.options.items()]
    return "\n".join([" ".join(["usage: ralphtool", called, *verb.takes, "…"]), "", verb.about, "", *lines, ""])


def _overview() -> str:
    width = max(map(len, VERBS)) + len("agent ")
    known = {"run": RUN, **{f"agent {name}": verb for name, verb in VERBS.items()}}
    lines = [f"  ralphtool {called:{width}}  {verb.about}" for called, verb in known.items()]
    about = [
        "Work through a change story by story.",
        "",
        f"  ralphtool {'':{width}}  a board of changes, sessions and stories",
        *lines,
        "",
        "'ralphtool COMMAND --help' shows more. Answers to agents are JSON on stdout, errors JSON on stderr;",
        "RALPH_SESSION and RALPH_STORY name session and story.",
    ]
    return "\n".join(["usage: ralphtool [COMMAND …]", "", *about, ""])


def _verb_of(args: list[str]) -> tuple[str, CommandSpec, list[str]]:
    """What was called, what it is, and the words behind it."""
    if args[:1] == ["run"]:
        return "run", RUN, args[1:]
    if args[:1] == ["agent"]:
        for size in (3, 2):
            if (name := " ".join(args[1:size])) in VERBS:
                return f"agent {name}", VERBS[name], args[size:]
    raise UsageError(f"there is no command 'ralphtool {' '.join(args[:3])}'", hint="ralphtool --help shows all")
