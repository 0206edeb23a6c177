"""The commands of `cortext`: what they print, what they refuse, and in which words."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.machine import Machine
from tests.support.workspace import Office

API = 'cortext new brainstorm "API design" --agent offline'


# ── init ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_init_makes_a_workspace_a_repository_and_the_slash_commands(tmp_path: Path) -> None:
    office = Office(tmp_path)
    assert (office.project / ".workspace" / "config.toml").is_file()
    assert (office.project / ".git").is_dir()
    told = office.run("cortext init --tool claude --tool codex").text
    assert "Slash commands for claude: 8 written, 0 up to date" in told
    assert "Slash commands for codex: 8 written" in told
    assert (office.project / ".claude" / "commands" / "workspace.resume.md").is_file()
    assert "8 up to date" in office.run("cortext init --tool claude").text


def test_init_finds_the_tools_of_the_machine(office: Office) -> None:
    office.install_tool("gemini")
    assert "Slash commands for gemini: 8 written" in office.run("cortext init").text
    assert (office.project / ".gemini" / "commands" / "workspace.plan.toml").is_file()


def test_init_without_git_makes_no_repository(tmp_path: Path) -> None:
    office = Office(tmp_path, git=False)
    assert not (office.project / ".git").exists()
    assert "Session saved." in office.run(API, "Why?", "/exit").text


def test_init_leaves_a_command_file_that_somebody_changed(office: Office) -> None:
    office.run("cortext init --tool claude")
    path = office.project / ".claude" / "commands" / "workspace.plan.md"
    path.write_text("mine\n", encoding="utf-8")
    told = office.run("cortext init --tool claude")
    assert "left unchanged: .claude/commands/workspace.plan.md" in told.complaint
    assert path.read_text(encoding="utf-8") == "mine\n"


def test_init_in_a_new_folder_with_the_one_tool_that_is_named(office: Office) -> None:
    office.run("cortext init deep/er --tool codex --no-git")
    config = (office.project / "deep" / "er" / ".workspace" / "config.toml").read_text(encoding="utf-8")
    assert 'tool = "codex"\n' in config


def test_init_for_a_tool_that_nobody_knows_makes_nothing(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    assert "nonsense" in machine.run("cortext init --tool nonsense", code=2).complaint
    assert list(machine.project.iterdir()) == []


# ── For programs ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_new_as_json_begins_and_talks_to_nobody(office: Office) -> None:
    told = office.json('cortext new plan "The release" --tool claude --model m-1')
    folder = office.folder("001-plan-the-release")
    assert told["conversation_id"] == "001-plan-the-release"
    assert told["path"] == str(folder)
    assert told["document"] == str(folder / "plan.md")
    assert told["tool"] == "claude"
    assert "You help somebody plan." in str(told["prompt"])
    assert (told["context_file"], told["context_lines"]) == ("", 0)
    assert office.messages() == []


def test_resume_as_json_hands_over_context_and_warnings(office: Office) -> None:
    office.run(API, "Why?", "/exit")
    (office.project / ".workspace" / "types").mkdir()
    (office.project / ".workspace" / "types" / "brainstorm.md").write_text("Be brief.\n", encoding="utf-8")
    told = office.json("cortext resume api")
    assert told["prompt"] == "Be brief."
    context = Path(str(told["context_file"]))
    assert "Why?" in context.read_text(encoding="utf-8")
    assert context.parent == office.project / ".workspace" / "context"
    assert "context" not in office.git("status", "--short", "--untracked-files=all")
    office.run("cortext stop api")
    assert not context.exists()
    office.json("cortext resume api")
    assert context.exists()
    office.library.delete(str(told["id"]))
    assert not context.exists()
    assert "has changed since" in str(told["warnings"])


def test_resume_as_json_of_several_lists_them(office: Office) -> None:
    for topic in ("API one", "API two"):
        office.run(f'cortext new plan "{topic}" --json')
    told = json.loads(office.run("cortext resume api --json", code=1).out)
    assert [card["title"] for card in told] == ["API two", "API one"]


def test_stop_as_json_says_what_to_confirm(office: Office) -> None:
    office.run(API, "Why?", "/exit")
    told = office.json('cortext stop --summary "Here."')
    assert (told["title"], told["summary"], told["status"]) == ("API design", "Here.", "paused")
    assert str(told["message"]).startswith("Session saved.\n")
    assert told["commit"] is not None


def test_an_error_as_json_is_json(office: Office) -> None:
    told = json.loads(office.run("cortext resume nothing --json", code=3).err)
    assert told["error"]["code"] == "not_found"
    assert "cortext new brainstorm" in told["error"]["hint"]


def test_the_list_as_json_has_every_field(office: Office) -> None:
    office.run(API, "Why?", "/exit")
    (card,) = json.loads(office.run("cortext list --json").out)
    assert card["conversation_id"] == "001-brainstorm-api-design"
    assert (card["type"], card["status"], card["message_count"]) == ("brainstorm", "paused", 2)
    assert card["summary"]


# ── For people ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_commands_work_from_any_folder_of_the_workspace(office: Office) -> None:
    (office.project / "deep").mkdir()
    office.run(f"cd deep && {API}", "Why?", "/exit")
    assert office.folder().name == "001-brainstorm-api-design"


def test_the_list_filters_by_type_status_and_words(office: Office) -> None:
    office.run(API, "Why?", "/exit")
    office.run('cortext new debug "Login" --agent offline', "Why?", "/complete")
    assert "Login" not in office.run("cortext list --type brainstorm").text
    assert "API design" not in office.run("cortext list --status completed").text
    assert "Login" not in office.run("cortext list api").text
    assert "no resumable conversations" in office.run("cortext list --type plan").text


def test_what_a_stranger_said_reaches_no_terminal_raw(office: Office) -> None:
    agent = office.agent("\x1b[31mred\x1b[0m \x07")
    office.run(f"cortext new plan \"$(printf 'a\\033[2Jb')\" --agent {agent}", "Why?", "/exit")
    for command in ("cortext list", "cortext resume", "cortext stop"):
        done = office.run(f"{command} || true")
        assert b"\x1b" not in done.out + done.err


def test_no_commit_leaves_git_alone(office: Office) -> None:
    office.run(f"{API} --no-commit", "Why?", "/exit")
    assert office.git("status", "--porcelain").count("??") == 2
    office.run("cortext stop --no-commit")
    (office.project / ".workspace" / "config.toml").write_text("commit = false\n", encoding="utf-8")
    office.run("cortext stop")
    assert office.git("rev-list", "--all") == ""


def test_a_refusing_hook_is_told_and_the_conversation_is_saved(office: Office) -> None:
    hook = office.project / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'not today' >&2\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    told = office.run(API, "Why?", "/exit")
    assert "saved, but not committed: a hook of the repository rejected it: not today" in told.complaint
    assert "Session saved." in told.text
    assert office.session()["status"] == "paused"


def test_in_the_chat_one_goes_from_one_conversation_to_another(office: Office) -> None:
    told = office.run(API, "Why?", "/workspace.plan The release", "What first?", "/workspace.stop-conversation")
    assert 'Conversation "API design" has been paused.' in told.text
    assert 'Conversation "The release" has been paused.' in told.text
    assert office.said("001-brainstorm-api-design")[0] == "Why?"
    assert office.said("002-plan-the-release")[0] == "What first?"
    assert office.log[-1] == "[session] Pause: The release"


def test_mistakes_are_told_in_one_line(office: Office, tmp_path: Path) -> None:
    for command, code, words in (
        ("cortext nwe plan x", 2, "there is no command 'nwe'; did you mean new?"),
        ("cortext new plan", 2, "a conversation needs a topic"),
        ("cortext new nonsense topic", 3, "there is no conversation type 'nonsense'"),
        ("cortext stop", 3, "there is no conversation to stop here"),
        ("cortext stop nothing", 3, "no conversation matches 'nothing'"),
        ("cortext list --status done", 2, "'done' is not one of"),
        (f"{API} --agent nobody", 3, "nobody"),
        (f"cd {tmp_path} && cortext list", 3, "is not in a workspace; cortext init makes one here"),
    ):
        told = office.run(command, code=code).complaint
        assert words in told
        assert told.count("\n") == 1, told
    assert not office.conversations.exists()


def test_a_damaged_conversation_is_asked_about(office: Office) -> None:
    office.run(API, "Why?", "/exit")
    path = office.folder() / ".session" / "messages.jsonl"
    path.write_bytes(path.read_bytes().replace(b"Why?", b"What"))
    assert "001-brainstorm-api-design" in office.run("cortext list").text
    told = office.run("cortext resume 001", "n", "n", code=5).complaint
    assert "it can be recovered or deleted; so far it is unchanged" in told
    assert b"What" in path.read_bytes()


def test_without_a_command_the_help_is_shown(office: Office) -> None:
    told = office.run("cortext").text
    for name in ("init", "new", "stop", "complete", "resume", "list"):
        assert f"  {name} " in told
