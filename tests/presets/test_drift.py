"""When a prompt counts as changed, and what is said about it."""

from __future__ import annotations

import pytest

from segue.presets import Preset, describe_drift, hash_prompt

PROMPT = "You review code.\nToday is Monday, January 5, 2026.\nWorking directory: /home/ann/shop\nShip by 2026-03-01."


def preset(prompt: str) -> Preset:
    return Preset(name="reviewer", system_prompt=prompt)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Today's date: 2026-01-05", "Today's date: 2026-01-06"),
        ("Today is Monday, January 5, 2026.", "Today is Tuesday, Feb 10, 2027."),
        ("Today is Monday", "Today is Sunday"),
        ("Current date and time: 2026-01-05T09:30:00Z", "Current date and time: 2027-11-15T19:31:59.123+02:00"),
        ("The current time is 9:30 am.", "The current time is 11:05 pm."),
        ("date: 5 January 2026", "date: 16 Mar 2027"),
        ("cwd: /home/ann/shop", "cwd: /srv/other"),
        ("Current working directory: ~/shop", "Current working directory: C:\\Users\\ann"),
        ("<env>Working directory: /a b</env>", "<env>Working directory: /c b</env>"),
        ("line\r\nnext  \n", "line\nnext"),
    ],
)
def test_what_changes_by_itself_is_no_drift(one: str, other: str) -> None:
    assert hash_prompt(f"Be kind.\n{one}") == hash_prompt(f"Be kind.\n{other}")
    assert describe_drift(hash_prompt(one), one, preset(other)) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Be kind.", "Be strict."),
        ("Ship by 2026-03-01.", "Ship by 2026-04-01."),
        ("Read /etc/hosts first.", "Read /etc/passwd first."),
        ("Today is a good day.", "Today is a bad day."),
        ("a\nb", "b\na"),
        ("  indented", "indented"),
    ],
)
def test_what_the_author_changed_is_drift(one: str, other: str) -> None:
    assert hash_prompt(one) != hash_prompt(other)
    assert describe_drift(hash_prompt(one), None, preset(other)) is not None


def test_the_hash_is_a_named_sha256_and_that_of_the_preset() -> None:
    assert preset(PROMPT).hash == hash_prompt(PROMPT)
    name, _, digest = hash_prompt(PROMPT).partition(":")
    assert (name, len(digest)) == ("sha256", 64)


def test_settings_beside_the_prompt_do_not_change_its_hash() -> None:
    assert Preset(name="a", model="x", system_prompt=PROMPT).hash == Preset(name="b", system_prompt=PROMPT).hash


def test_a_prompt_that_no_encoding_takes_has_a_hash() -> None:
    assert hash_prompt("\ud800") != hash_prompt("\ud801")


def test_a_session_that_recorded_no_hash_has_no_drift() -> None:
    assert describe_drift("", None, preset("new")) is None


def test_drift_shows_the_difference_where_the_old_text_is_known() -> None:
    told = describe_drift(preset(PROMPT).hash, PROMPT, preset(PROMPT.replace("review", "praise").replace("5", "6")))
    assert told is not None
    first, *difference = told.splitlines()
    assert first == "the prompt of reviewer has changed since this session used it:"
    assert "-You review code." in difference
    assert "+You praise code." in difference
    assert not [line for line in difference if line.startswith(("+", "-")) and "oday" in line]


def test_drift_says_only_that_it_changed_where_the_old_text_is_not_the_one_of_the_hash() -> None:
    for text in (None, "something else"):
        assert describe_drift(preset("old").hash, text, preset("new")) == (
            "the prompt of reviewer has changed since this session used it"
        )


def test_a_long_difference_is_cut() -> None:
    old, new = ("\n".join(f"{word} {number}" for number in range(100)) for word in ("old", "new"))
    told = describe_drift(preset(old).hash, old, preset(new))
    assert told is not None
    assert len(told.splitlines()) == 26
    assert told.endswith("… and 177 more lines")
