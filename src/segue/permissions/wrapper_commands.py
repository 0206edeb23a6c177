"""Commands that run others, and where those stand among their words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

Words = tuple[str | None, ...]


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SHELLS = words("ash bash dash ksh mksh rbash sh yash zsh")
OTHER_SHELLS = words("csh elvish fish nu pwsh tcsh xonsh")
"""Those that read a line in another way."""
OF_THE_SHELL = words("command exec")
"""Wrappers that the shell has itself, so that what they run may be its own as well."""
WRAPPERS = words(
    "at batch builtin bwrap busybox chroot chrt doas docker entr env expect faketime fakeroot fd find firejail flock"
    " gdb ionice kubectl ltrace nice nohup npx nsenter parallel perf pkexec podman proot rlwrap runuser screen script"
    " setarch setpriv setsid ssh stdbuf strace su sudo systemd-run taskset time timeout tmux toybox unbuffer unshare"
    " uv valgrind watch xargs"
).union(SHELLS, OTHER_SHELLS, OF_THE_SHELL)
"""The known ones. Nobody knows all of them: a list of what is denied is no protection, a list of what is allowed is."""

_APART = re.compile(r"[^\s;&|()<>{}$`'\"\\=,]+")
_ATTACHED = re.compile(r"-\w(?=[\w./])")


def name_of(word: str) -> str:
    """What a command is called, wherever it lies; on some machines upper and lower case are the same there."""
    return word.rpartition("/")[2].casefold()


def is_wrapper(given: Words) -> bool:
    return bool(given) and given[0] is not None and name_of(given[0]) in WRAPPERS


def inner_words(given: Words) -> Iterator[str | None]:
    """The words of a wrapper, with those that stand in one word taken apart, as behind `env -S` and `su -c`."""
    for word in given:
        if word is None:
            yield None
            continue
        for piece in _APART.findall(word):
            yield piece
            if _ATTACHED.match(piece):
                yield piece[2:]


def scripts_of(given: Words) -> list[str | None]:
    """The lines of shell among the words: what `sh -c` is told to run, also behind a wrapper; None for unknown ones."""
    if not is_wrapper(given):
        return []
    scripts: list[str | None] = []
    is_shell = is_other = has_values = is_next = False
    for word in given:
        if word is None:
            scripts += [None] if is_shell or is_other else []
        elif is_other and re.match(r"-\w*c|--c", word):
            scripts.append(None)
        elif is_shell and word.startswith(("-", "+")):
            is_next = is_next or re.fullmatch(r"-\w*c\w*", word) is not None
            # Where an option has a value, as -o has, the line may be the word behind that.
            has_values = has_values or re.match(r"[-+]\w*[oO]", word) is not None
        elif is_next:
            scripts.append(word)
            is_next = has_values
        else:
            is_shell = is_shell or name_of(word) in SHELLS
            is_other = is_other or name_of(word) in OTHER_SHELLS
    return scripts
