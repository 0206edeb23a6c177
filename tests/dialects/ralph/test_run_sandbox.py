"""`ralphtool run --sandbox`: the agent does its work, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.ralph_demo import BY_SCRIPT, RUN

if TYPE_CHECKING:
    from tests.support.ralph_demo import Demo

pytestmark = pytest.mark.needs_sandbox

EVIL = """
cat > /dev/null
cat "$HOME/.ssh/id" > stolen
echo evil > "$HOME/outside"
echo evil >> .git/config
echo evil > .claude/settings.json
mv .claude claude
echo evil >> src.txt
(setsid sh -c 'sleep 1000 > held' &)
exit 0
"""


def test_a_change_is_completed_in_a_sandbox(demo: Demo) -> None:
    shown = demo.run(*BY_SCRIPT, "--sandbox").text
    assert shown.endswith("change add-greeting is complete\n")
    assert demo.tasks.count("- [x]") == 3
    assert "- **Pages**: Begin with an example\n" in demo.learned
    assert demo.saved().status == "completed"


def test_an_agent_in_a_sandbox_changes_the_project_and_nothing_that_is_yours(demo: Demo) -> None:
    for path, text in (
        (".ssh/id", "secret"),
        ("../demo/.git/config", "mine"),
        ("../demo/.claude/settings.json", "mine"),
    ):
        (demo.home / path).parent.mkdir(parents=True, exist_ok=True)
        (demo.home / path).write_text(text)
    (demo.root / "evil.sh").write_text(EVIL)
    (demo.root / "src.txt").write_text("")
    for switch, is_held in (("--sandbox", True), ("--takeover", False)):
        demo.run(*RUN, "--with", "sh evil.sh", "--max-retries", "0", switch, code=1)
        stolen = demo.root / "stolen"
        assert (not stolen.exists() or stolen.read_text() == "") == is_held
        assert (demo.home / "outside").exists() != is_held
        assert ((demo.root / ".git" / "config").read_text() == "mine") == is_held
        assert (demo.root / ".claude").exists() == is_held
        assert "evil" in (demo.root / "src.txt").read_text()
        if is_held:
            assert (demo.root / ".claude" / "settings.json").read_text() == "mine"


def test_what_verifies_the_work_is_held_as_well(demo: Demo) -> None:
    (demo.home / "id").write_text("secret")
    run = ("run", "--change", "add-greeting", "--with", "sh agent.sh", "--verify", f"cat {demo.home}/id")
    shown = demo.run(*run, "--sandbox", "--max-retries", "0", code=1).text
    assert "Permission denied" in shown
    assert "secret" not in shown
