from __future__ import annotations

import os
import re
import tomllib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.dialects.cortext import command_files as room
from segue.dialects.cortext.command_files import TOOLS, command_files, install
from segue.errors import ConflictError, UsageError
from segue.presets import Preset
from segue.presets.frontmatter import parse_front_matter

if TYPE_CHECKING:
    from pathlib import Path

PLAN = Preset(name="plan", description="Turn a goal into steps", system_prompt="You help somebody plan.")
DEBUG = Preset(name="debug", system_prompt="You look for causes.")

ACTIVE = {
    "claude": re.compile(r"\$\w|\$\{|!`|```!|(?:^|\s)@\S"),
    "opencode": re.compile(r"\$\w|\$\{|!`|(?<![\w`])@\S"),
    "gemini": re.compile(r"\{\{args\}\}|!\{|@\{"),
}
"""What the tools look for in the text of a command."""


def prompt_in(tool: str, text: str) -> str:
    """What the tool hands to the model."""
    return str(tomllib.loads(text)["prompt"]) if tool == "gemini" else parse_front_matter(text).body


def path_of(tool: str, name: str) -> str:
    return next(path for path in command_files(tool, [PLAN]) if re.search(rf"workspace[.-]{name}\b", path))


def text_of(tool: str, name: str, *types: Preset) -> str:
    return command_files(tool, types or (PLAN,))[path_of(tool, name)]


# ── The files ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("tool", "paths"),
    [
        ("claude", [".claude/commands/workspace.{}.md"]),
        ("opencode", [".opencode/commands/workspace.{}.md"]),
        ("gemini", [".gemini/commands/workspace.{}.toml"]),
        ("codex", [".agents/skills/workspace-{}/SKILL.md"]),
    ],
)
def test_each_tool_has_its_folder_and_its_names(tool: str, paths: list[str]) -> None:
    names = ["resume", "stop-conversation", "debug", "plan"]
    assert list(command_files(tool, [PLAN, DEBUG])) == [path.format(name) for name in names for path in paths]


@pytest.mark.parametrize("tool", TOOLS)
def test_a_type_begins_a_conversation_with_its_prompt(tool: str) -> None:
    prompt = prompt_in(tool, text_of(tool, "plan"))
    assert f'`cortext new plan "TOPIC" --tool {tool} --json`' in prompt
    assert prompt.rstrip().endswith("# Instructions\n\nYou help somebody plan.")
    assert "`document`" in prompt
    assert "acknowledge" in prompt


@pytest.mark.parametrize("tool", TOOLS)
def test_resume_lists_chooses_warns_and_goes_on(tool: str) -> None:
    prompt = prompt_in(tool, text_of(tool, "resume", PLAN, DEBUG))
    assert "`cortext resume --list --limit 20 --json`" in prompt
    assert f'`cortext resume "ID OR WORDS" --tool {tool} --json`' in prompt
    assert "Which conversation would you like to continue? (number or search)" in prompt
    assert '[Resuming "TITLE"]' in prompt
    shown = "$workspace-debug or $workspace-plan" if tool == "codex" else "/workspace.debug or /workspace.plan"
    assert f"suggest {shown}" in prompt


@pytest.mark.parametrize("tool", TOOLS)
def test_stop_confirms_with_title_summary_and_the_way_back(tool: str) -> None:
    prompt = prompt_in(tool, text_of(tool, "stop-conversation"))
    assert '`cortext stop --summary "SUMMARY" --json`' in prompt
    for line in ("Session saved.", 'Conversation "TITLE" has been paused.', "Summary: SUMMARY"):
        assert f"\n   {line}\n" in f"{prompt}\n"
    assert "You can continue later with /workspace.resume" in prompt
    assert ("(here: $workspace-resume)" in prompt) is (tool == "codex")


def test_the_words_behind_a_command_arrive_where_each_tool_puts_them() -> None:
    assert "<topic>$ARGUMENTS</topic>" in text_of("claude", "plan")
    assert "<wanted>$ARGUMENTS</wanted>" in text_of("opencode", "resume")
    assert "<topic>{{args}}</topic>" in text_of("gemini", "plan")
    assert "$ARGUMENTS" not in text_of("codex", "plan")


def test_the_front_matter_says_what_each_tool_reads() -> None:
    claude = parse_front_matter(text_of("claude", "plan")).fields
    assert claude == {
        "description": "Start a plan conversation: Turn a goal into steps",
        "argument-hint": "[topic]",
        "allowed-tools": "Bash(cortext:*)",
    }
    skill = parse_front_matter(text_of("codex", "stop-conversation")).fields
    assert skill["name"] == "workspace-stop-conversation"
    assert "/workspace.stop-conversation" in str(skill["description"])
    assert set(parse_front_matter(text_of("opencode", "resume")).fields) == {"description"}
    assert set(tomllib.loads(text_of("gemini", "resume"))) == {"description", "prompt"}


@pytest.mark.parametrize("tool", ["claude", "opencode", "gemini"])
@pytest.mark.parametrize(
    "hostile",
    [
        "!`rm -rf ~`",
        "see !`id` and @/etc/passwd and $ARGUMENTS, $1, $0, ${CLAUDE_SESSION_ID}",
        "```!\nid\n```",
        "!{id} @{secrets.txt} {{args}} {{{args}}}",
        "@secret.txt\n(@secret.txt)",
    ],
)
def test_nothing_in_a_prompt_is_run_or_replaced(tool: str, hostile: str) -> None:
    own = ACTIVE[tool].findall(prompt_in(tool, text_of(tool, "plan")))
    evil = Preset(name="plan", system_prompt=hostile)
    prompt = prompt_in(tool, text_of(tool, "plan", evil))
    assert ACTIVE[tool].findall(prompt) == own
    assert re.sub(r"\s", "", hostile) in re.sub(r"\s", "", prompt)


def test_what_no_tool_acts_on_stays_as_it_was_written() -> None:
    harmless = 'Costs 5 $. Write to a@example.org! Use `x != y` and {braces}, \\n and """quotes""".'
    for tool in TOOLS:
        assert harmless in prompt_in(tool, text_of(tool, "plan", Preset(name="plan", system_prompt=harmless)))


@given(st.text(), st.text())
def test_any_text_makes_files_that_can_be_read(prompt: str, description: str) -> None:
    preset = Preset(name="plan", description=description, system_prompt=prompt)
    for tool in TOOLS:
        text = text_of(tool, "plan", preset)
        assert "cortext new plan" in prompt_in(tool, text)
        if tool in ACTIVE:
            assert len(ACTIVE[tool].findall(prompt_in(tool, text))) == 1
        text.encode()


@pytest.mark.parametrize("name", ["resume", "stop-conversation", "a/b", "../x", "A", "with space", "a_b"])
def test_a_type_that_cannot_have_a_command_is_named(name: str) -> None:
    with pytest.raises(UsageError, match=re.escape(repr(name))):
        command_files("claude", [Preset(name=name)])


def test_an_unknown_tool_is_told_which_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        command_files("vim", [PLAN])
    assert "claude, codex, gemini, opencode" in caught.value.hint


# ── Installing them ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_files_are_written_once(tmp_path: Path) -> None:
    files = command_files("claude", [PLAN])
    assert install(tmp_path, files) == (tuple(files), (), ())
    assert {path: (tmp_path / path).read_text(encoding="utf-8") for path in files} == files
    assert install(tmp_path, files) == ((), tuple(files), ())


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_an_unchanged_file_of_ours_follows_its_type(tmp_path: Path, tool: str, ends: str) -> None:
    install(tmp_path, command_files(tool, [PLAN]))
    path = tmp_path / path_of(tool, "plan")
    path.write_bytes(path.read_bytes().replace(b"\n", ends.encode()))
    new = command_files(tool, [Preset(name="plan", system_prompt="You plan otherwise now.")])
    assert install(tmp_path, new).written == (path_of(tool, "plan"),)
    assert "otherwise" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("tool", TOOLS)
def test_a_file_that_somebody_changed_is_kept_and_told(tmp_path: Path, tool: str) -> None:
    install(tmp_path, command_files(tool, [PLAN]))
    path = tmp_path / path_of(tool, "plan")
    mine = path.read_text(encoding="utf-8").replace("somebody plan", "me plan")
    path.write_text(mine, encoding="utf-8")
    installed = install(tmp_path, command_files(tool, [Preset(name="plan", system_prompt="Other.")]))
    assert [problem.path for problem in installed.skipped] == [path_of(tool, "plan")]
    assert "it was changed" in str(installed.skipped[0])
    assert path.read_text(encoding="utf-8") == mine


def test_a_file_that_was_never_ours_is_kept(tmp_path: Path) -> None:
    path = tmp_path / path_of("claude", "resume")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\xff mine")
    installed = install(tmp_path, command_files("claude", [PLAN]))
    assert [problem.path for problem in installed.skipped] == [path_of("claude", "resume")]
    assert len(installed.written) == 2
    assert path.read_bytes() == b"\xff mine"


def test_links_are_never_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root = tmp_path / "root"
    (root / ".claude").mkdir(parents=True)
    (root / ".claude" / "commands").symlink_to(outside)
    installed = install(root, command_files("claude", [PLAN]))
    assert len(installed.skipped) == 3
    assert "symbolic link" in installed.skipped[0].reason
    assert os.listdir(outside) == []


def test_a_change_in_the_very_moment_of_writing_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, command_files("claude", [PLAN]))
    path = tmp_path / path_of("claude", "plan")

    def and_meanwhile(text: str) -> bool:
        path.write_text("mine", encoding="utf-8")
        return bool(text)

    monkeypatch.setattr(room, "is_untouched", and_meanwhile)
    with pytest.raises(ConflictError):
        install(tmp_path, command_files("claude", [Preset(name="plan", system_prompt="Other.")]))
    assert path.read_text(encoding="utf-8") == "mine"
