from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from segue.cli import options
from segue.console import output
from segue.console.exits import Exit

if TYPE_CHECKING:
    from segue.library import Library
    from segue.model import Overview
    from segue.store import Store


class _Read(NamedTuple):
    """A session that is only looked at."""

    store: Store
    id: str
    overview: Overview


@options.verb("segue trust qa-2026", "segue trust qa-2026 --yes", "segue trust qa-2026 --store cortext:~/notes")
@options.session
@options.yes
@options.library
def command(*, library: Library, id: str, yes: bool) -> int:
    """Show what a session asks for, and agree to it.

    Who answers, with which tools and in which scope: what you set on this machine holds, and all else that a session
    says holds only when you have agreed to it. It is asked for again if it changes, or if the session lies elsewhere.
    """
    from segue.chat.demands import shown
    from segue.cli.settings import open_company

    company = open_company(confirm=lambda _: False, tell=output.warn)
    name = library.resolve(id)
    session = _Read(library.store, name, library.overview(name))
    missing = company.demands(session)
    if missing:
        output.complain(shown(missing))
        if not output.confirm("Is that what you want?", yes=yes):
            output.warn("nothing is agreed to")
            return Exit.DECLINED
    company.agree(session)
    output.note(f"{name} may go on as it says" if missing else f"{name} asks for nothing that is not yours")
    return Exit.DONE
