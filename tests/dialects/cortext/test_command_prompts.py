"""The command that is resumed is the command that was used: as the user edited it, in its current version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import segue
from segue.dialects.cortext.command_files import TOOLS, command_files, install, path_of_command
from segue.dialects.cortext.conversations import Conversations
from segue.dialects.cortext.workspace import make_workspace
from segue.presets import hash_prompt

if TYPE_CHECKING:
    from pathlib import Path

    from segue.session import LiveSession
    from tests.support.workspace import Office

OWN = "You help somebody think about a topic that is still open."
EDITED = "You only ever ask questions."


def opened(root: Path) -> Conversations:
    workspace = make_workspace(root)
    return Conversations(workspace, segue.open(workspace.url))


def edit(root: Path, tool: str, old: str, new: str) -> None:
    path = root / path_of_command(tool, "brainstorm")
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def recorded(session: LiveSession) -> str:
    preset = session.overview.preset
    assert preset is not None
    assert session.get_blob(preset.hash)
    return preset.hash


@pytest.mark.parametrize("tool", TOOLS)
def test_an_edited_command_is_hashed_recorded_checked_for_changes_and_resumed(tmp_path: Path, tool: str) -> None:
    conversations = opened(tmp_path)
    install(tmp_path, command_files(tool, conversations.workspace.types()))
    with conversations.start("brainstorm", "Unedited", tool=tool) as session:
        unedited = session.id
        assert OWN in conversations.prompt_of(session)
    edit(tmp_path, tool, OWN, EDITED)
    with conversations.start("brainstorm", "Edited", tool=tool) as session:
        prompt = conversations.prompt_of(session)
        assert prompt.startswith(EDITED)
        assert "cortext new" not in prompt
        assert recorded(session) == hash_prompt(prompt)
        assert conversations.drift(session) == []
        edit(tmp_path, tool, EDITED, "You never ask.")
        assert f"-{EDITED}\n+You never ask." in conversations.drift(session)[0]
        conversations.note_tool(session, tool="segue")  # what it continues with is what it used
        assert conversations.prompt_of(session).startswith("You never ask.")
        assert conversations.drift(session) == []
        assert recorded(session) != hash_prompt(prompt)
    with conversations.library.resume(unedited) as session:
        assert f"-{OWN}\n+You never ask." in conversations.drift(session)[0]
    with conversations.start("brainstorm", "Elsewhere", tool="segue") as session:
        assert OWN in conversations.prompt_of(session)


@pytest.mark.parametrize("tool", TOOLS)
def test_of_a_command_without_our_heading_all_is_instructions(tmp_path: Path, tool: str) -> None:
    conversations = opened(tmp_path)
    path = tmp_path / path_of_command(tool, "brainstorm")
    path.parent.mkdir(parents=True)
    mine = f"prompt = '{EDITED}'\n" if path.suffix == ".toml" else f"---\ndescription: [mine\n---\n{EDITED}\n"
    path.write_text(mine, encoding="utf-8")
    with conversations.start("brainstorm", "Mine", tool=tool) as session:
        assert conversations.prompt_of(session) == EDITED


def test_a_command_that_is_a_link_out_of_the_workspace_is_not_read(tmp_path: Path) -> None:
    conversations = opened(tmp_path / "notes")
    (tmp_path / "secret").write_text("my key", encoding="utf-8")
    path = tmp_path / "notes" / path_of_command("claude", "brainstorm")
    path.parent.mkdir(parents=True)
    path.symlink_to(tmp_path / "secret")
    with conversations.start("brainstorm", "Mine", tool="claude") as session:
        assert OWN in conversations.prompt_of(session)


def test_a_conversation_of_an_edited_command_continues_with_it_in_the_chat(office: Office) -> None:
    office.run("cortext init --tool claude")
    edit(office.project, "claude", OWN, EDITED)
    told = office.json('cortext new brainstorm "API design" --tool claude')
    assert str(told["prompt"]).startswith(EDITED)
    config = office.session()["agent_config"]
    assert isinstance(config, dict)
    assert config["system_prompt_hash"] == hash_prompt(str(told["prompt"]))
    edit(office.project, "claude", EDITED, "You never ask.")
    resumed = office.run(f"cortext resume 001 --tool segue --agent {office.echo}", "Go on.", "/exit")
    assert "You never ask." in resumed.text
    assert f"-{EDITED}\n+You never ask." in resumed.complaint


def test_changed_types_reach_the_slash_commands_and_edited_ones_stay(office: Office) -> None:
    office.run("cortext init --tool claude --tool gemini")
    edit(office.project, "gemini", OWN, EDITED)
    removed = office.project / path_of_command("claude", "plan")
    removed.unlink()
    types = office.project / ".workspace" / "types"
    types.mkdir()
    (types / "brainstorm.md").write_text("Be brief.\n", encoding="utf-8")
    (types / "retro.md").write_text("Ask what went well.\n", encoding="utf-8")
    told = office.run("cortext list").complaint
    assert "cortext: the slash commands follow the types: updated .claude/commands/workspace.resume.md, " in told
    assert f"left unchanged: {path_of_command('gemini', 'brainstorm')}: it was changed" in told
    commands = {name: office.project / path_of_command("claude", name) for name in ("brainstorm", "retro")}
    assert commands["brainstorm"].read_text(encoding="utf-8").endswith("# Instructions\n\nBe brief.\n")
    assert "Ask what went well." in commands["retro"].read_text(encoding="utf-8")
    assert EDITED in (office.project / path_of_command("gemini", "brainstorm")).read_text(encoding="utf-8")
    assert not removed.exists()
    assert not (office.project / ".agents").exists()
    assert office.run("cortext list").complaint == ""
    (types / "brainstorm.md").write_text("Be brief, please.\n", encoding="utf-8")
    told_tool = office.run('cortext new brainstorm "API" --tool claude --json')
    assert '"prompt": "Be brief, please."' in told_tool.text  # which counts, although the tool has read the old file
    assert commands["brainstorm"].read_text(encoding="utf-8").endswith("Be brief, please.\n")
