"""What a pattern matches: the fast way and a slow one that can be seen to be right say the same."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from segue.permissions.path_patterns import BaseFolders, PathPatterns

HERE = BaseFolders("/p", "/h")
MARKS = st.text("ab.*?", min_size=1, max_size=5).filter(lambda text: text not in {".", ".."})
NAMES = st.text("ab.", min_size=1, max_size=4).filter(lambda text: text not in {".", ".."})
TAILS = st.lists(st.one_of(MARKS, st.just("**")), min_size=1, max_size=6)
PATHS = st.lists(NAMES, max_size=6)


def is_name(like: str, name: str) -> bool:
    """Character by character, trying everything."""
    if not like:
        return not name
    if like[0] == "*":
        return is_name(like[1:], name) or (bool(name) and is_name(like, name[1:]))
    return bool(name) and like[0] in {"?", name[0]} and is_name(like[1:], name[1:])


def is_path(like: list[str], names: list[str]) -> bool:
    """Name by name, trying everything."""
    if not like:
        return not names
    if like[0] == "**":
        return is_path(like[1:], names) or (bool(names) and is_path(like, names[1:]))
    return bool(names) and is_name(like[0], names[0]) and is_path(like[1:], names[1:])


def matches(pattern: str, path: str, *, beneath: bool = False) -> bool:
    return PathPatterns([pattern], HERE, beneath=beneath).find(path) is not None


@given(TAILS, PATHS)
@example(["**", "a", "**", "b"], ["a", "b", "a", "b"])
@example(["*a*b*", "**"], ["aab"])
@example(["**", "*a", "a*", "**", "a"], ["a", "a", "a", "a"])
def test_patterns_mean_what_the_slow_way_says(like: list[str], names: list[str]) -> None:
    assert matches("/" + "/".join(like), "/" + "/".join(names)) == is_path(like, names)


@given(TAILS, PATHS)
def test_what_denies_covers_whatever_lies_beneath(like: list[str], names: list[str]) -> None:
    above = any(is_path(like, names[:count]) for count in range(len(names) + 1))
    assert matches("/" + "/".join(like), "/" + "/".join(names), beneath=True) == above


@given(st.lists(TAILS, max_size=6), PATHS)
def test_many_patterns_say_what_each_would_say(likes: list[list[str]], names: list[str]) -> None:
    patterns, path = ["/" + "/".join(like) for like in likes], "/" + "/".join(names)
    found = PathPatterns(patterns, HERE).find(path)
    assert (found is not None) == any(matches(pattern, path) for pattern in patterns)
    assert found is None or matches(found, path)


@pytest.mark.parametrize(
    ("pattern", "path", "is_match"),
    [
        ("/a/**", "/a", True),
        ("/a/**", "/a/b/c", True),
        ("/a/**", "/ab", False),
        ("/a/", "/a/b/c", True),
        ("/a//./b", "/a/b", True),
        ("/a/*", "/a/b/c", False),
        ("/a/*", "/a/.hidden", True),
        ("/a**b", "/aXb", True),
        ("/a**b", "/a/b", False),
        ("/a?c", "/a/c", False),
        ("/[ab]", "/a", False),
        ("/[ab]", "/[ab]", True),
        ("/A", "/a", False),
        ("/", "/", True),
        ("/**", "/", True),
        ("**", "/p/x", True),
        ("**", "/other", False),
        ("src/*.py", "/p/src/a.py", True),
        ("${project_root}", "/p", True),
        ("${project_root}/**/x", "/p/a/b/x", True),
        ("~", "/h", True),
        ("~/a", "/h/a", True),
        ("~a", "/p/~a", True),
        ("/a\n", "/a\n", True),
    ],
)
def test_the_written_down_meaning(pattern: str, path: str, is_match: bool) -> None:  # noqa: FBT001 - a table
    assert matches(pattern, path) == is_match


def test_what_denies_with_two_stars_in_front_holds_everywhere() -> None:
    assert matches("**/.env", "/other/.env", beneath=True)
    assert not matches("**/.env", "/other/.env")


@pytest.mark.parametrize("pattern", ["/" + "*a" * 30 + "b", "/" + "**/a/" * 30 + "b", "/" + "**/*a*/" * 20 + "b"])
def test_no_pattern_and_no_path_can_make_it_slow(pattern: str) -> None:
    # Tried in every way, each of these would outlast the time limit of the tests by far.
    assert not matches(pattern, "/" + "a" * 255)
    assert not matches(pattern, "/a" * 200)
    assert not matches(pattern, "/aaaa" * 200, beneath=True)


@pytest.mark.parametrize(
    ("pattern", "path", "is_match"),
    [
        ("**.pem", "/other/deep/key.pem", True),
        ("**.pem", "/key.pem", True),
        ("**.pem", "/p/.pem", True),
        ("**.pem", "/p/key.pem.txt", False),
        ("keys/**.pem", "/p/keys/a/b/key.pem", True),
        ("keys/**.pem", "/p/keys/key.pem", True),
        ("keys/**.pem", "/p/other/key.pem", False),
        ("a**b", "/p/axb", True),
        ("a**b", "/p/ax/y/zb", True),
        ("a**b", "/p/ax/y/z", False),
        ("a**/b", "/p/ax/y/b", True),
        ("secret**", "/p/secrets/x", True),
        ("***.pem", "/other/key.pem", True),
        ("a**b**c", "/p/a/b/c", True),
        ("a**b**c", "/p/abc", True),
        ("a**b**c", "/p/ab/c", True),
    ],
)
def test_in_what_denies_two_stars_reach_over_folders_wherever_they_stand(
    pattern: str,
    path: str,
    is_match: bool,  # noqa: FBT001 - a table
) -> None:
    assert matches(pattern, path, beneath=True) == is_match


@given(TAILS, PATHS)
def test_with_stars_in_names_more_is_denied_and_never_less(like: list[str], names: list[str]) -> None:
    if is_path(like, names):
        assert matches("/" + "/".join(like), "/" + "/".join(names), beneath=True)
