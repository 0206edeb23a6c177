"""What is committed, and that everything else stays as it was."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from segue.git import find_repository
from tests.support.git_repository import OUR_FILES, Place

# ── What is committed ────────────────────────────────────────────────────────────────────────────────────────────────


def test_new_files_of_ours_are_committed_and_the_hash_is_told(place: Place) -> None:
    outcome = place.commit()
    assert outcome.status == "committed"
    assert outcome.commit == place.git("rev-parse", "HEAD").strip()
    assert outcome.message == f"committed {outcome.commit[:10]} on main"
    assert place.committed_files() == OUR_FILES
    assert place.git("status", "--porcelain") == ""


def test_a_second_commit_of_the_same_is_nothing(place: Place) -> None:
    place.commit()
    outcome = place.commit()
    assert (outcome.status, outcome.commit) == ("nothing", "")


def test_nothing_at_all_is_nothing_however_much_is_staged(place: Place) -> None:
    place.write("notes.txt", "staged\n")
    place.git("add", "notes.txt")
    assert place.repository.commit([], "nothing").status == "nothing"
    assert place.git("status", "--porcelain", "notes.txt") == "M  notes.txt\n"


def test_a_repository_within_is_left_alone(place: Place) -> None:
    place.git("init", "--quiet", str(place.ours / "inner"))
    assert place.commit().status == "committed"
    assert place.committed_files() == OUR_FILES
    assert place.commit().status == "nothing"


def test_changes_and_deletions_of_ours_are_committed(place: Place) -> None:
    place.commit()
    (place.ours / "plan.md").unlink()
    place.write(OUR_FILES[0], '{"status": "paused"}\n')
    assert place.commit().status == "committed"
    assert place.committed_files() == OUR_FILES


def test_single_files_can_be_named_and_those_that_never_were_are_left_out(place: Place) -> None:
    outcome = place.repository.commit([place.ours / "plan.md", place.ours / "never.md"], "one file")
    assert outcome.status == "committed"
    assert place.committed_files() == [OUR_FILES[1]]
    assert place.git("status", "--porcelain", "-uall") == f"?? {OUR_FILES[0]}\n"


def test_what_others_staged_stays_staged_and_what_they_did_not_stays_unstaged(place: Place) -> None:
    place.write("notes.txt", "staged\n")
    place.write("conversations/001-other.md", "beside ours, staged\n")
    place.git("add", "notes.txt", "conversations/001-other.md")
    place.write("notes.txt", "staged, and changed again\n")
    place.git("mv", "other.txt", "renamed.txt")
    place.write("later.txt", "announced\n")
    place.git("add", "--intent-to-add", "later.txt")
    place.write("unknown.txt", "untracked\n")
    before = place.git("status", "--porcelain", "--", ".", ":!conversations/001-plan")
    staged = place.git("diff", "--cached", "--", ".", ":!conversations/001-plan")

    assert place.commit().status == "committed"

    assert place.committed_files() == OUR_FILES
    assert place.git("status", "--porcelain") == before
    assert place.git("diff", "--cached") == staged
    assert place.git("show", ":notes.txt") == "staged\n"


def test_a_file_of_ours_that_was_staged_in_part_is_committed_whole(place: Place) -> None:
    place.commit()
    place.write(OUR_FILES[1], "# A plan\nfirst\n")
    place.git("add", OUR_FILES[1])
    place.write(OUR_FILES[1], "# A plan\nfirst\nsecond\n")
    assert place.commit().status == "committed"
    assert place.git("show", f"HEAD:{OUR_FILES[1]}") == "# A plan\nfirst\nsecond\n"
    assert place.git("status", "--porcelain") == ""


def test_a_change_that_no_time_and_no_size_gives_away_is_seen_by_us_and_later_by_the_user(place: Place) -> None:
    """Git tells such a change by the time of its index, which therefore has to stay as it is."""
    place.commit()
    at = 1_700_000_000
    theirs, ours = place.root / "notes.txt", place.root / OUR_FILES[1]
    for path in (theirs, ours):
        os.utime(path, (at, at))
    place.git("update-index", "--refresh")
    os.utime(place.root / ".git" / "index", (at, at))
    theirs.write_text("two\n", encoding="utf-8")
    ours.write_text("# A grid\n"[: ours.stat().st_size - 1] + "\n", encoding="utf-8")
    for path in (theirs, ours):
        os.utime(path, (at, at))
    assert place.commit().status == "committed"
    assert place.committed_files() == [OUR_FILES[1]]
    assert place.git("status", "--porcelain") == " M notes.txt\n"


def test_hooks_see_our_commit_and_nothing_else(place: Place) -> None:
    place.write("notes.txt", "staged\n")
    place.git("add", "notes.txt")
    place.hook("pre-commit", "git diff --cached --name-only > .git/seen")
    assert place.commit().status == "committed"
    assert (place.root / ".git" / "seen").read_text(encoding="utf-8").splitlines() == OUR_FILES


def test_an_unborn_branch_gets_its_first_commit(tmp_path: Path, place: Place) -> None:
    fresh = Place(tmp_path / "fresh", place.environ)
    fresh.root.mkdir()
    fresh.git("init", "--quiet", "--initial-branch=trunk")
    fresh.write("staged.txt", "staged\n")
    fresh.git("add", "staged.txt")
    fresh.write("conversations/001-plan/plan.md", "# A plan\n")
    outcome = fresh.commit()
    assert outcome.message.endswith("on trunk")
    assert fresh.committed_files() == [OUR_FILES[1]]
    assert fresh.git("status", "--porcelain") == "A  staged.txt\n"


def test_a_detached_head_takes_the_commit_and_the_user_is_told(place: Place) -> None:
    place.git("checkout", "--quiet", "--detach")
    outcome = place.commit()
    assert outcome.message.endswith("on no branch (HEAD is detached)")
    assert "git switch -c" in outcome.hint
    assert place.git("rev-parse", "HEAD").strip() == outcome.commit
    assert place.git("log", "--format=%s", "main") == "first\n"


def test_a_worktree_is_a_repository_of_its_own_branch(tmp_path: Path, place: Place) -> None:
    place.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "tree"))
    tree = Place(tmp_path / "tree", place.environ)
    tree.write("conversations/001-plan/plan.md", "# A plan\n")
    assert tree.commit().message.endswith("on side")
    assert tree.committed_files("side") == [OUR_FILES[1]]
    assert place.git("log", "--format=%s", "main") == "first\n"


def test_in_a_submodule_the_submodule_gets_the_commit(tmp_path: Path, place: Place) -> None:
    outer = Place(tmp_path / "outer", place.environ)
    outer.root.mkdir()
    outer.git("init", "--quiet")
    outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(place.root), "inner")
    outer.git("commit", "--quiet", "--message=outer")
    inner = Place(outer.root / "inner", place.environ)
    inner.write("conversations/001-plan/plan.md", "# A plan\n")
    assert inner.commit().status == "committed"
    assert inner.committed_files() == [OUR_FILES[1]]
    assert outer.git("log", "--format=%s") == "outer\n"


def test_the_repository_is_found_from_below_and_through_links(tmp_path: Path, place: Place) -> None:
    (tmp_path / "link").symlink_to(place.root)
    found = find_repository(tmp_path / "link" / "conversations", environ=place.environ)
    assert found is not None
    assert found.root == place.root
    assert found.commit([tmp_path / "link" / OUR_FILES[1]], "by a link").status == "committed"
    assert find_repository(tmp_path, environ=place.environ) is None


def test_leftovers_of_an_outer_hook_lead_nowhere(tmp_path: Path, place: Place) -> None:
    elsewhere = Place(tmp_path / "elsewhere", place.environ)
    elsewhere.root.mkdir()
    elsewhere.git("init", "--quiet")
    place.hook("pre-commit", "touch .git/hook-ran")
    leftovers = {
        "GIT_DIR": str(elsewhere.root / ".git"),
        "GIT_WORK_TREE": str(elsewhere.root),
        "GIT_INDEX_FILE": str(elsewhere.root / ".git" / "index.lock"),
        "GIT_PREFIX": "sub/",
        "GIT_GLOB_PATHSPECS": "1",
        "GIT_LITERAL_PATHSPECS": "0",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.hooksPath",
        "GIT_CONFIG_VALUE_0": str(elsewhere.root),
    }
    found = find_repository(place.ours, environ=place.environ | leftovers, trusted=True)
    assert found is not None
    assert found.commit([place.ours], "ours").status == "committed"
    assert place.committed_files() == OUR_FILES
    assert (place.root / ".git" / "hook-ran").exists()
    assert not (elsewhere.root / ".git" / "index.lock").exists()


def test_what_is_not_committed_is_listed_by_what_it_holds(place: Place) -> None:
    place.commit()
    os.utime(place.root / "notes.txt", (1_700_000_000, 1_700_000_000))  # touched, and as it was
    place.write("other.txt", "changed\n")
    place.write("new.txt", "new\n")
    place.write("forced.tmp", "ignored, and added\n")
    place.write(".gitignore", "*.tmp\n")
    place.write("ignored.tmp", "ignored\n")
    place.git("add", "--force", "forced.tmp")
    (place.root / OUR_FILES[1]).unlink()
    found = [str(path.relative_to(place.root)) for path in place.repository.uncommitted(place.root)]
    assert found == [OUR_FILES[1], "forced.tmp", "other.txt", ".gitignore", "new.txt"]
    assert place.repository.uncommitted(place.root / "notes.txt") == ()


# ── Names and messages ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name",
    [b"--all", b"-m", b":(top)x", b":!x", b"*.md", b"a\nb", b" a ", b'"a"', b"\xff\xfe", b"1 u ? !", "ü".encode()],
)
def test_names_are_names_and_nothing_else(place: Place, name: bytes) -> None:
    place.write("bystander.md", "not ours\n")
    path = Path(os.fsdecode(os.path.join(os.fsencode(place.root), name)))
    for content in ("new\n", "changed\n"):
        path.write_text(content, encoding="utf-8")
        assert place.repository.commit([path], "one").status == "committed"
        shown = subprocess.run(
            ["git", "show", "--format=", "--name-only", "-z"],
            cwd=place.root,
            env=place.environ,
            check=True,
            capture_output=True,
        ).stdout
        assert shown == name + b"\0"


@pytest.mark.parametrize(
    "message",
    ["# a heading\n\n- a list\n\n\n# end", "--amend", "-m x", "\n\n  indented", "", "trailing  \n", "Fixes: ü\u2028"],
)
def test_messages_arrive_as_they_are(place: Place, message: str) -> None:
    place.git("config", "commit.cleanup", "strip")
    place.git("config", "i18n.commitEncoding", "latin1")
    assert place.commit(message).status == "committed"
    raw = place.git("cat-file", "commit", "HEAD")
    assert raw.partition("\n\n")[2] == message.replace("\u2028", "\\u2028") + "\n"
    assert len(place.git("log", "--format=%H").split()) == 2


def test_what_no_message_can_hold_is_shown_instead(place: Place) -> None:
    assert place.commit("a\0b \ud800 \x1b[31m").status == "committed"
    assert place.git("log", "-1", "--format=%B").strip() == "a\\x00b \\ud800 \\x1b[31m"


def test_git_is_asked_to_sync_all_that_it_writes(tmp_path: Path, place: Place) -> None:
    """A git that is found before the real one writes down what it is asked."""
    tools = tmp_path / "tools"
    tools.mkdir()
    real = shutil.which("git")
    script = f'#!/bin/sh\nprintf "%s\\n" "$*" >> {tmp_path}/asked\nexec {real} "$@"\n'
    (tools / "git").write_text(script, encoding="utf-8")
    (tools / "git").chmod(0o755)
    path = f"{tools}{os.pathsep}{place.environ['PATH']}"
    found = find_repository(place.ours, environ=place.environ | {"PATH": path}, trusted=True)
    assert found is not None
    assert found.commit([place.ours], "--a secret of the conversation").status == "committed"
    asked = (tmp_path / "asked").read_text(encoding="utf-8").splitlines()
    assert asked
    assert [line for line in asked if "-c core.fsync=all" not in line or "--literal-pathspecs" not in line] == []
    assert "secret" not in "".join(asked)
