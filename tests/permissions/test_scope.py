"""The YAML of a scope: what it says, what is refused, and how a pattern is added without touching the rest."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.formats.yaml import DEPTH
from segue.permissions.scope import (
    LISTS,
    NODES,
    SIZE_CHARACTERS,
    InvalidScopeError,
    Scope,
    expand_project_root,
    fields_of,
    parse_scope,
    read_scope,
    with_pattern,
    write_scope,
)
from segue.permissions.scope_edits import add_pattern

SCOPE = """\
# what the agent may touch
paths:
  read:
    - /data/**   # shared
    - "~/notes/*"
  write: ["${project_root}/out/**"]
  deny:
  - "**/.env"
org_roam_patterns:
  tags: [work]
shell_commands:
  allow:
    - git status
  deny: []
owner: me
"""
PATTERNS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=20).filter(
    lambda text: bool(text.strip()) and ".." not in text.split("/") and "${" not in text
)
LIST_NAMES = st.sampled_from(sorted(LISTS))
SCOPES = st.builds(Scope, **{name: st.lists(PATTERNS, max_size=3, unique=True).map(tuple) for name in LISTS})


def test_every_section_has_its_place_and_the_rest_is_kept() -> None:
    scope = read_scope(SCOPE)
    assert scope == Scope(
        read=("/data/**", "~/notes/*"),
        write=("${project_root}/out/**",),
        deny=("**/.env",),
        shell_allow=("git status",),
        org_roam_patterns={"tags": ["work"]},
        extra={"owner": "me"},
    )
    assert parse_scope(fields_of(scope)) == scope


@pytest.mark.parametrize("text", ["", "# nothing\n", "paths:\n", "paths: {}\nshell_commands:\n", "{}"])
def test_a_scope_that_says_nothing_allows_nothing(text: str) -> None:
    assert read_scope(text) == Scope()


def test_a_plain_list_of_commands_is_what_is_allowed() -> None:
    assert read_scope("shell_commands: [ls, pwd]").shell_allow == ("ls", "pwd")


@pytest.mark.parametrize(
    ("text", "reason", "line"),
    [
        ("paths:\n  read: [\n", "it is not YAML", 3),
        ("a: 1\npaths:\n  reed: [a]", "paths has no 'reed', only deny, read, write", 2),
        ("paths:\n  read: a", r"paths.read must be a list, not a string", 2),
        ("paths:\n  deny: [1]", r"paths.deny must contain strings, not 1: put it in quotes", 2),
        ("paths:\n  write: ['a/../b']", r"must not contain \.\.", 2),
        ("paths:\n  write: ['a/${project_root}']", "only as the first folder", 2),
        ("paths:\n  write: ['${project_root}x']", "only as the first folder", 2),
        ("paths:\n  read: ['']", "visible characters", 2),
        ("paths:\n  deny: ['a**b**c**d**e']", r"paths.deny must contain patterns with at most 3 \*\* within names", 2),
        ('paths:\n  read: ["a\\0b"]', "visible characters", 2),
        ("paths: [a]", "paths must be a mapping, not a list", 1),
        ("- a", "it must be a mapping, not a list", 1),
        ("a: &x [1]\nb: *x", "contains a reference", 2),
        ("a: " + "[" * (DEPTH + 5), "nested more than", 1),
        ("a: [" + "1," * (NODES + 5) + "]", "too many values", 1),
        ("a: " + "x" * SIZE_CHARACTERS, "larger than 256 KB", 1),
    ],
)
def test_what_makes_no_scope_is_refused_with_its_place(text: str, reason: str, line: int) -> None:
    with pytest.raises(InvalidScopeError, match=reason) as refused:
        read_scope(text)
    assert refused.value.line == line


@given(SCOPES)
def test_a_scope_that_is_written_is_read_back(scope: Scope) -> None:
    assert read_scope(write_scope(scope)) == scope


def test_fields_of_others_survive_writing_whatever_is_in_them() -> None:
    scope = Scope(org_roam_patterns={"tags": ["é"]}, extra={"null": ["\U0001f600\x85", {"n": 1}]})
    assert read_scope(write_scope(scope)) == scope


def test_the_root_of_the_project_is_written_out() -> None:
    scope = Scope(read=("${project_root}/a/*", "/b"), deny=("${project_root}",), shell_allow=("ls",))
    assert expand_project_root(scope, "/p") == Scope(read=("/p/a/*", "/b"), deny=("/p",), shell_allow=("ls",))
    with pytest.raises(InvalidScopeError, match="no pattern can express"):
        expand_project_root(scope, "/p/*")


# ── Adding ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("", 'paths:\n  read:\n    - "/x"\n'),
        ("paths: # none yet\n", 'paths: # none yet\n  read:\n    - "/x"\n'),
        ("paths:\n  read:\n  write: [a]\n", 'paths:\n  read:\n    - "/x"\n  write: [a]\n'),
        ("paths:\n  read: []\n", 'paths:\n  read: ["/x"]\n'),
        ("paths:\n  read: [a, b, ] # c\n", 'paths:\n  read: [a, b, "/x", ] # c\n'),
        ("paths:\n  # c\n  write:\n  - a\n", 'paths:\n  # c\n  read:\n    - "/x"\n  write:\n  - a\n'),
        ("paths:\n  read:\n  - a # c\n\n# end\nz: 1", 'paths:\n  read:\n  - a # c\n  - "/x"\n\n# end\nz: 1'),
        ("paths: {write: [a]}\n", 'paths: {read: ["/x"], write: [a]}\n'),
        ("\ufeffpaths:\r\n  read:\r\n    - a\r\n", '\ufeffpaths:\r\n  read:\r\n    - a\r\n    - "/x"\r\n'),
        ("paths:\n  read:\n    - a", 'paths:\n  read:\n    - a\n    - "/x"\n'),
    ],
)
def test_one_line_is_put_in_and_all_else_stays(text: str, added: str) -> None:
    assert add_pattern(text, "read", "/x") == added


def test_what_is_there_is_not_added_twice() -> None:
    assert add_pattern(SCOPE, "read", "~/notes/*") == SCOPE


@pytest.mark.parametrize("text", ["paths: ~\n", "paths:\n  read: null\n"])
def test_what_cannot_be_added_to_safely_is_refused(text: str) -> None:
    with pytest.raises(InvalidScopeError, match="cannot be edited safely"):
        add_pattern(text, "read", "/x")


@given(st.sampled_from([SCOPE, "", "paths:\n"]), st.lists(st.tuples(LIST_NAMES, PATTERNS), max_size=4))
def test_whatever_is_added_is_there_and_nothing_else_changed(text: str, additions: list[tuple[str, str]]) -> None:
    lines = text.splitlines()
    for name, pattern in additions:
        wanted = with_pattern(read_scope(text), name, pattern)
        text = add_pattern(text, name, pattern)
        assert read_scope(text) == wanted
    assert [line for line in lines if line not in text.splitlines() and "[" not in line] == []


@given(st.text(st.sampled_from(" \n\t:-[]{}&*!|>'\"#%@,?ab1~<\\\0\x85\u2028é"), max_size=40), LIST_NAMES)
def test_whatever_a_file_holds_it_is_added_to_or_refused(rest: str, name: str) -> None:
    text = f"paths:\n  read: [a]\n{rest}"
    with suppress(InvalidScopeError):
        assert "/x" in getattr(read_scope(add_pattern(text, name, "/x")), name)
