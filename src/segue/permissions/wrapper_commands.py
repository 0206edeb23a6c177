"""Commands that run other commands, and where to find those among the arguments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

Words = tuple[str | None, ...]


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


SHELLS = word_set("ash bash dash ksh mksh rbash sh yash zsh")
OTHER_SHELLS = word_set("csh elvish fish nu pwsh tcsh xonsh")
"""Shells with another syntax."""
BUILTIN_WRAPPERS = word_set("command exec")
"""Wrappers that are builtins of the shell, and can run other builtins."""
WRAPPERS = word_set(
    "at batch builtin bwrap busybox chroot chrt doas docker entr env expect faketime fakeroot fd find firejail flock"
    " gdb ionice kubectl ltrace nice nohup npx nsenter parallel perf pkexec podman proot rlwrap runuser screen script"
    " setarch setpriv setsid ssh stdbuf strace su sudo systemd-run taskset time timeout tmux toybox unbuffer unshare"
    " uv valgrind watch xargs"
).union(SHELLS, OTHER_SHELLS, BUILTIN_WRAPPERS)
"""The known wrappers. The list cannot be complete: a deny list does not protect, an allow list does."""

_PIECES = re.compile(r"[^\s;&|()<>{}$`'\"\\=,]+")
_ATTACHED = re.compile(r"-\w(?=[\w./])")


def command_name(word: str) -> str:
    """The name of a command without its folder; case is ignored, as on some file systems."""
    return word.rpartition("/")[2].casefold()


def is_wrapper(argv: Words) -> bool:
    return bool(argv) and argv[0] is not None and command_name(argv[0]) in WRAPPERS


def inner_words(argv: Words) -> Iterator[str | None]:
    """The words of a wrapper, with words that contain several split up, as after `env -S` and `su -c`."""
    for word in argv:
        if word is None:
            yield None
            continue
        for piece in _PIECES.findall(word):
            yield piece
            if _ATTACHED.match(piece):
                yield piece[2:]


def find_scripts(argv: Words) -> list[str | None]:
    """Find the scripts of `sh -c` among the words, also after a wrapper; None for a script that is not known."""
    if not is_wrapper(argv):
        return []
    scripts: list[str | None] = []
    is_shell = is_other = has_values = is_next = False
    for word in argv:
        if word is None:
            scripts += [None] if is_shell or is_other else []
        elif is_other and re.match(r"-\w*c|--c", word):
            scripts.append(None)
        elif is_shell and word.startswith(("-", "+")):
            is_next = is_next or re.fullmatch(r"-\w*c\w*", word) is not None
            # An option with a value, such as -o, may come before the script.
            has_values = has_values or re.match(r"[-+]\w*[oO]", word) is not None
        elif is_next:
            scripts.append(word)
            is_next = has_values
        else:
            is_shell = is_shell or command_name(word) in SHELLS
            is_other = is_other or command_name(word) in OTHER_SHELLS
    return scripts
