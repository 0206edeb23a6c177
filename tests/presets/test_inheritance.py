"""What a preset takes over from others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.permissions import load_profile
from segue.presets import DEFAULT, SHIPPED, Preset, Presets, load_presets

if TYPE_CHECKING:
    from pathlib import Path


def load(folder: Path, **texts: str) -> Presets:
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(f"---\n{text}\n---\n", encoding="utf-8")
    return load_presets([folder])


def reasons(presets: Presets, folder: Path) -> list[str]:
    return sorted(str(problem).removeprefix(f"{folder}/") for problem in presets.problems)


def test_a_preset_takes_over_what_it_does_not_say_itself(tmp_path: Path) -> None:
    (tmp_path / "plain.md").write_text(
        "---\nmodel: opus\ntemperature: 0.1\ntools: [Read]\nmax-tokens: 900\nscope_profile: docs\n"
        "confirm-tool-calls: false\ncolor: red\nshape: round\n---\nBe plain."
    )
    presets = load(tmp_path, child="description: mine\nparents: plain\ntemperature: 0\ncolor: blue")
    child = presets.get("child")
    assert presets.problems == ()
    assert child == Preset(
        name="child",
        description="mine",
        model="opus",
        temperature=0.0,
        max_tokens=900,
        tools=("Read",),
        parents=("plain",),
        scope_profile="docs",
        confirm_tool_calls=False,
        system_prompt="Be plain.",
        extra={"color": "blue", "shape": "round"},
        path=f"{tmp_path}/child.md",
    )


def test_a_later_parent_wins_over_an_earlier_one_with_all_that_it_builds_on(tmp_path: Path) -> None:
    presets = load(
        tmp_path,
        root="model: root\nbackend: root\nnum-messages: 3",
        first="model: first\nbackend: first",
        second="parents: root",
        child="parents: [first, second]",
    )
    child = presets.get("child")
    assert (child.model, child.backend, child.num_messages) == ("root", "root", 3)


def test_a_parent_that_is_not_there_costs_only_itself(tmp_path: Path) -> None:
    presets = load(tmp_path, other="model: opus", child="name: child\nparents: [gone, other]")
    assert presets.get("child").model == "opus"
    assert reasons(presets, tmp_path) == ["child.md line 3: its parent 'gone' does not exist"]


def test_presets_that_build_on_each_other_in_a_circle_are_reported_and_work(tmp_path: Path) -> None:
    presets = load(
        tmp_path, a="parents: b\nmodel: a", b="parents: c\nbackend: b", c="parents: a\ntemperature: 1", d="parents: d"
    )
    assert (presets.get("c").model, presets.get("c").backend, presets.get("a").temperature) == ("a", "b", 1.0)
    assert reasons(presets, tmp_path) == [
        "a.md line 2: it is its own ancestor, through b",
        "b.md line 2: it is its own ancestor, through c",
        "c.md line 2: it is its own ancestor, through a",
        "d.md line 2: it is its own ancestor, through d",
    ]


def test_a_long_line_of_ancestors_and_many_diamonds_are_no_burden(tmp_path: Path) -> None:
    texts = {f"p{number}": f"parents: [p{number + 1}, p{number + 2}]" for number in range(100)}
    presets = load(tmp_path, **texts, p100="model: far", p101="model: farther")
    assert presets.get("p0").model == "far"
    assert presets.problems == ()


def test_a_parent_may_come_from_another_folder(tmp_path: Path) -> None:
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "house.md").write_text("House rules.")
    (tmp_path / "child.md").write_text("---\nparents: house\n---\n")
    presets = load_presets([tmp_path, tmp_path / "user"])
    assert presets.get("child").system_prompt == "House rules."


def test_the_default_preset_ships_and_names_a_profile_that_ships_too() -> None:
    presets = load_presets([SHIPPED])
    executor = presets.get(DEFAULT)
    assert presets.problems == ()
    assert (executor.name, executor.temperature, executor.parents) == ("executor", 0.5, ())
    assert executor.system_prompt
    assert load_profile(executor.scope_profile, []).source == "profile"
