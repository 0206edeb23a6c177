from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from segue.cli._lookup import find_stored
from segue.console import options, output
from segue.console.exit_codes import Exit

if TYPE_CHECKING:
    from segue.library import Library
    from segue.model import Overview
    from segue.store import Store


class _ReadSession(NamedTuple):
    """A session that is only read."""

    store: Store
    id: str
    overview: Overview


@options.verb("segue trust qa-2026", "segue trust qa-2026 --yes", "segue trust qa-2026 --store cortext:~/notes")
@options.session
@options.yes
@options.library
def command(*, library: Library, id: str, yes: bool) -> int:
    """Show what a session asks for, and agree to it.

    A session names an agent, tools and a scope. What you set on this machine applies; everything else applies only
    after you have agreed to it. You are asked again if it changes, or if the session is copied to another place.
    """
    from segue.console.surface import here, open_agents, open_surface
    from segue.dialects.cortext.slash_commands import preset_by_type
    from segue.tools.trust_requests import format_trust_requests

    resolver = open_agents(open_surface(notify=output.warn), preset_for=preset_by_type(here()))
    found = find_stored(library, id, words="never" if yes else "ask")
    library, name = found.library, found.id
    session = _ReadSession(library.store, name, library.overview(name))
    missing = resolver.trust_requests(session)
    if missing:
        output.write_stderr(format_trust_requests(missing))
        if not output.confirm("Allow this?", yes=yes):
            output.warn("not trusted; nothing was changed")
            return Exit.DECLINED
    resolver.agree(session)
    output.note(f"{name} is trusted as shown" if missing else f"{name} asks for nothing that needs trust")
    return Exit.DONE
