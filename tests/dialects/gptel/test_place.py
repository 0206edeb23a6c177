from __future__ import annotations

import pytest

from segue.dialects.gptel.paths import BranchPath, is_session_path, parse_branch_path


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/s/a-1/branches/main/session.md", BranchPath("/s/a-1", "main")),
        ("/s/a-1/branches/20261115130000-b/session.md", BranchPath("/s/a-1", "20261115130000-b")),
        ("/s/branches/branches/main/session.md", BranchPath("/s/branches", "main")),
        ("/s/a-1/current/session.md", BranchPath("/s/a-1", "")),
    ],
)
def test_a_path_says_which_session_and_branch(path: str, place: BranchPath) -> None:
    assert is_session_path(path)
    assert parse_branch_path(path) == place


@pytest.mark.parametrize(
    "path",
    [
        "",
        "session.md",
        "/session.md",
        "/branches/main/session.md",
        "branches/main/session.md",
        "/s/a-1/branches/session.md",
        "/s/a-1/branches/.hidden/session.md",
        "/s/a-1/branches/../session.md",
        "/s/a-1/branches/main/session.md/",
        "/s/a-1/branches/main/session.md.orig",
        "/s/a-1/branches/main/my-session.md",
        "/s/a-1/twigs/main/session.md",
        "/current/session.md",
    ],
)
def test_any_other_path_is_no_session(path: str) -> None:
    assert not is_session_path(path)
    assert parse_branch_path(path) is None
