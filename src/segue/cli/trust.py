from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from segue.console import options, output
from segue.console.exit_codes import Exit

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
    from segue.console.surface import here, open_agents, open_surface
    from segue.dialects.cortext.slash_commands import preset_by_type
    from segue.tools.trust_requests import format_trust_requests

    resolver = open_agents(open_surface(notify=output.warn), preset_for=preset_by_type(here()))
    name = library.resolve(id)
    session = _Read(library.store, name, library.overview(name))
    missing = resolver.trust_requests(session)
    if missing:
        output.write_stderr(format_trust_requests(missing))
        if not output.confirm("Is that what you want?", yes=yes):
            output.warn("nothing is agreed to")
            return Exit.DECLINED
    resolver.agree(session)
    output.note(f"{name} may go on as it says" if missing else f"{name} asks for nothing that is not yours")
    return Exit.DONE
