"""The picker, driven by its keys over real stores."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from textual.widgets import Input, OptionList, Static
from textual.worker import WorkerCancelled

import segue
from segue.cli.picker.app import PickedSession, Picker
from segue.cli.picker.dialogs import ConfirmDialog, TextDialog
from segue.cli.picker.model import PickerModel
from segue.durable.folder import Folder
from segue.index import StoreSource
from segue.queries import Filters

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from textual.pilot import Pilot

    from segue.library import Library

    PickerPilot = Pilot[PickedSession | None]

EVIL = "\x1b]52;c;cm0=\x07 \u202e [bold red]markup[/] \x9b31m\ud800 two\nlines"


@pytest.fixture
def library(tmp_path: Path) -> Library:
    found = segue.open(f"journal:{tmp_path}/sessions")
    for id, title, texts in (
        ("holidays", "Two weeks in May", ["Where should we go?", "To the sea."]),
        ("login", "Login bug", ["Why does login fail?", "The token expires.", "So refresh it earlier."]),
    ):
        with found.create(id=id, title=title, agent="qa") as session:
            for number, text in enumerate(texts):
                session.add("assistant" if number % 2 else "user", text)
    return found


def use(
    library: Library,
    cache: Path | None,
    does: Callable[[PickerPilot], Awaitable[None]],
    *,
    size: tuple[int, int] = (110, 30),
    text: str = "",
    filters: Filters | None = None,
) -> PickedSession | None:
    """Open the picker, let the test use it, and return its result."""
    folder = None if cache is None else Folder(str(cache))
    model = PickerModel(folder, [StoreSource(library.store)], {library.store.url: library}, filters=filters)
    picker = Picker(model, command_of=lambda entry: f"segue resume {entry.id}", text=text)

    async def run() -> None:
        async with picker.run_test(size=size) as pilot:
            await settled(pilot)
            await does(pilot)

    try:
        asyncio.run(run())
    finally:
        model.close()
    return picker.return_value


async def settled(pilot: PickerPilot) -> None:
    """Wait until all background work has finished and its results are shown."""
    for _ in range(2):  # a refresh may start a search
        for one in [one for one in pilot.app.workers if one.group in {"refresh", "search"}]:
            with suppress(WorkerCancelled):  # the query has changed meanwhile
                await one.wait()
        await pilot.pause()


async def press(pilot: PickerPilot, *keys: str) -> None:
    await pilot.press(*keys)
    await settled(pilot)


def rows(pilot: PickerPilot) -> list[str]:
    sessions = pilot.app.screen.query_one(OptionList)
    return [str(sessions.get_option_at_index(at).prompt).partition("\n")[0] for at in range(sessions.option_count)]


def shown(pilot: PickerPilot, *parts: str) -> str:
    return "\n".join(str(pilot.app.screen.query_one(f"#{part}", Static).content) for part in parts)


def test_in_80_columns_the_keys_show_the_way_out_and_reading_has_keys_of_its_own(
    library: Library, tmp_path: Path
) -> None:
    async def does(pilot: PickerPilot) -> None:
        assert "esc quit" in shown(pilot, "keys")[:80]
        assert "^d delete" in shown(pilot, "keys")[:80]
        await press(pilot, "tab")  # to a preview that is too short to scroll
        assert "esc back to the list" in shown(pilot, "keys")
        await press(pilot, "down", "down", "pagedown", "up", "down")
        assert "So refresh it earlier." in shown(pilot, "text")
        assert pilot.app.screen.query_one(OptionList).highlighted == 0
        await press(pilot, "escape", "down")
        assert pilot.app.screen.query_one(OptionList).highlighted == 1

    use(library, tmp_path / "cache", does, size=(80, 50))


def test_a_notice_has_a_line_of_its_own_below_every_question(library: Library, tmp_path: Path) -> None:
    async def does(pilot: PickerPilot) -> None:
        await press(pilot, "ctrl+y")
        assert shown(pilot, "notice") == "copied: segue resume login"
        notice = pilot.app.screen.query_one("#notice", Static).region
        await press(pilot, "ctrl+d")
        (question,) = pilot.app.screen.query(Static)
        assert not question.region.overlaps(notice)
        await press(pilot, "escape", "x")
        assert not pilot.app.screen.query_one("#notice", Static).display

    use(library, tmp_path / "cache", does, size=(80, 24))


def test_it_shows_the_sessions_and_the_end_of_the_one_at_hand(library: Library, tmp_path: Path) -> None:
    async def does(pilot: PickerPilot) -> None:
        assert rows(pilot) == ["Login bug", "Two weeks in May"]
        assert "So refresh it earlier." in shown(pilot, "text")
        await press(pilot, "down")
        assert "To the sea." in shown(pilot, "text")
        assert "holidays" in shown(pilot, "summary")

    assert use(library, tmp_path / "cache", does) is None


def test_enter_goes_on_with_the_session_at_hand(library: Library, tmp_path: Path) -> None:
    async def does(pilot: PickerPilot) -> None:
        await press(pilot, "down", "enter")

    choice = use(library, tmp_path / "cache", does)
    assert choice is not None
    assert choice.entry is not None
    assert (choice.action, choice.entry.id) == ("resume", "holidays")


@pytest.mark.parametrize(
    ("typed", "titles"),
    [("may", ["Two weeks in May"]), ("token", ["Login bug"]), ("tok", ["Login bug"]), ("qa", None), ("zebra", [])],
)
def test_typing_narrows_by_names_and_by_what_was_said(
    library: Library, tmp_path: Path, typed: str, titles: list[str] | None
) -> None:
    async def does(pilot: PickerPilot) -> None:
        await press(pilot, *typed)
        assert rows(pilot) == (["Login bug", "Two weeks in May"] if titles is None else titles)

    use(library, tmp_path / "cache", does)


def test_the_preview_begins_with_the_place_that_was_found(library: Library, tmp_path: Path) -> None:
    async def does(pilot: PickerPilot) -> None:
        assert shown(pilot, "text").startswith("assistant\nThe token expires.")

    use(library, tmp_path / "cache", does, text="token")


def test_without_a_place_for_an_index_it_works_the_same(library: Library) -> None:
    async def does(pilot: PickerPilot) -> None:
        assert rows(pilot) == ["Login bug", "Two weeks in May"]
        await press(pilot, *"token")
        assert rows(pilot) == ["Login bug"]

    use(library, None, does)


def test_filters_hold_whatever_is_typed(library: Library, tmp_path: Path) -> None:
    with library.open("login") as session:
        session.tag("web")

    async def does(pilot: PickerPilot) -> None:
        assert rows(pilot) == ["Login bug"]
        await press(pilot, *"sea")
        assert rows(pilot) == []

    use(library, tmp_path / "cache", does, filters=Filters(tag="web"))


def test_what_others_wrote_meanwhile_is_there_when_the_sources_were_followed(library: Library, tmp_path: Path) -> None:
    async def does(pilot: PickerPilot) -> None:
        assert rows(pilot)[0] in {"Login bug", "A third"}

    use(library, tmp_path / "cache", does)
    library.create(id="third", title="A third").close()

    async def does_again(pilot: PickerPilot) -> None:
        assert rows(pilot) == ["A third", "Login bug", "Two weeks in May"]

    use(library, tmp_path / "cache", does_again)


def test_a_session_is_renamed_in_place(library: Library, tmp_path: Path) -> None:
    async def does(pilot: PickerPilot) -> None:
        await press(pilot, "ctrl+r")
        assert isinstance(pilot.app.screen, TextDialog)
        assert pilot.app.screen.query_one(Input).value == "Login bug"
        await press(pilot, "ctrl+u", *"Other", "enter")
        assert rows(pilot)[0] == "Other"

    use(library, tmp_path / "cache", does)
    assert library.overview("login").title == "Other"


def test_tags_are_added_and_removed(library: Library, tmp_path: Path) -> None:
    async def does(pilot: PickerPilot) -> None:
        await press(pilot, "ctrl+t", *"web auth", "enter")
        await press(pilot, "ctrl+t", *"-web", "enter")
        assert "tags auth" in shown(pilot, "summary")

    use(library, tmp_path / "cache", does)
    assert library.overview("login").tags == ("auth",)


def test_a_fork_becomes_the_active_branch_and_the_status_stays(library: Library, tmp_path: Path) -> None:
    async def does(pilot: PickerPilot) -> None:
        await press(pilot, "ctrl+f", *"other", "enter")
        assert "branch other" in shown(pilot, "summary")

    use(library, tmp_path / "cache", does)
    assert (library.overview("login").branch, library.overview("login").status) == ("other", "paused")


@pytest.mark.parametrize(("answer", "left"), [("y", ["holidays"]), ("n", ["holidays", "login"]), ("enter", None)])
def test_deleting_asks_and_takes_only_a_clear_yes(
    library: Library, tmp_path: Path, answer: str, left: list[str] | None
) -> None:
    async def does(pilot: PickerPilot) -> None:
        await press(pilot, "ctrl+d")
        assert isinstance(pilot.app.screen, ConfirmDialog)
        await press(pilot, answer)
        assert len(rows(pilot)) == len(left or "ab")

    use(library, tmp_path / "cache", does)
    assert sorted(library.store.ids()) == (left or ["holidays", "login"])


def test_a_session_in_use_is_neither_deleted_nor_changed_and_the_picker_says_so(
    library: Library, tmp_path: Path
) -> None:
    with library.resume("login"):

        async def does(pilot: PickerPilot) -> None:
            await press(pilot, "ctrl+d", "y")
            assert len(rows(pilot)) == 2
            assert "in use" in shown(pilot, "notice")
            assert len(pilot.app._notifications) == 0  # a toast would cover the next question

        use(library, tmp_path / "cache", does)
    assert library.overview("login").title == "Login bug"


def test_the_command_that_comes_back_is_copied(library: Library, tmp_path: Path) -> None:
    async def does(pilot: PickerPilot) -> None:
        await press(pilot, "ctrl+y")
        assert pilot.app.clipboard == "segue resume login"

    use(library, tmp_path / "cache", does)


def test_escape_takes_one_step_back_at_a_time(library: Library, tmp_path: Path) -> None:
    async def does(pilot: PickerPilot) -> None:
        await press(pilot, *"may", "tab", "escape")
        assert pilot.app.focused is pilot.app.screen.query_one(Input)
        await press(pilot, "escape")
        assert len(rows(pilot)) == 2
        await press(pilot, "escape")

    assert use(library, tmp_path / "cache", does) is None


def test_a_new_conversation_can_be_begun(library: Library, tmp_path: Path) -> None:
    async def does(pilot: PickerPilot) -> None:
        await press(pilot, "ctrl+n")

    assert use(library, tmp_path / "cache", does) == PickedSession("chat")


@pytest.mark.parametrize("size", [(200, 60), (110, 30), (60, 20), (30, 8), (10, 4), (1, 1)])
def test_text_of_strangers_is_shown_printable_on_any_screen(
    library: Library, tmp_path: Path, size: tuple[int, int]
) -> None:
    with library.create(id="evil", title=EVIL, agent=EVIL, tags=[EVIL]) as session:
        session.add("user", EVIL)
        session.decide(EVIL)

    async def does(pilot: PickerPilot) -> None:
        for words in ("", "markup"):
            await press(pilot, *words)
            screen = "".join(
                segment.text for strip in pilot.app.screen._compositor.render_strips() for segment in strip
            )
            drawn = rows(pilot)[0] + shown(pilot, "summary", "text") + screen
            assert re.search(r"\[bold red\]markup", drawn)
            kinds = {unicodedata.category(character) for character in drawn if character != "\n"}
            assert kinds.isdisjoint({"Cc", "Cf", "Cs"})
        await press(pilot, "ctrl+d", "n", "ctrl+r", "escape")

    use(library, tmp_path / "cache", does, size=size)


def test_a_damaged_session_says_so_and_the_others_are_there(library: Library, tmp_path: Path) -> None:
    (tmp_path / "sessions" / "broken.jsonl").write_bytes(b"\x00\xff junk\n")

    async def does(pilot: PickerPilot) -> None:
        assert sorted(rows(pilot)) == ["Login bug", "Two weeks in May", "broken"]
        await press(pilot, *"broken")
        assert "damaged" in shown(pilot, "summary")

    use(library, tmp_path / "cache", does)
