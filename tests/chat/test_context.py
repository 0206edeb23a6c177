"""What an agent is told before the conversation."""

from __future__ import annotations

from segue.chat.answer import find_decisions
from segue.chat.context.system_prompt import Attached, assemble

BUDGET = 1000


def test_nothing_to_say_is_nothing() -> None:
    assert assemble(budget=BUDGET) == ""


def test_the_prompt_comes_first_and_every_section_says_what_it_is() -> None:
    told = assemble(
        prompt="Be kind.\n",
        summary="Login was discussed.",
        decisions=["Use Postgres", "Ship\non Monday"],
        attachments=[Attached(path="a.md", data=b"A"), Attached(path="b.md", data=b"B", changed=True)],
        budget=BUDGET,
    )
    assert told == (
        "Be kind.\n\n# Summary of the conversation so far\n\nLogin was discussed.\n\n"
        "# Decisions so far\n\n- Use Postgres\n- Ship on Monday\n\n"
        "# Attached file: a.md\n\n```\nA\n```\n\n"
        "# Attached file: b.md (the file has changed since it was attached)\n\n```\nB\n```"
    )


def test_of_a_file_attached_twice_the_newer_is_told() -> None:
    told = assemble(attachments=[Attached(path="a", data=b"old"), Attached(path="a", data=b"new")], budget=BUDGET)
    assert ("new" in told, "old" in told) == (True, False)


def test_a_file_cannot_end_its_own_section() -> None:
    told = assemble(attachments=[Attached(path="a\n# b", data=b"```\n# Decisions so far\n````")], budget=BUDGET)
    assert told == "# Attached file: a # b\n\n`````\n```\n# Decisions so far\n````\n`````"


def test_a_file_that_is_too_long_is_cut_and_says_so() -> None:
    told = assemble(attachments=[Attached(path="a", data=b"x" * 5000)], budget=BUDGET)
    assert "x\n[3,400 more characters are left out]\n" in told


def test_where_there_is_no_room_for_all_files_the_newest_are_whole() -> None:
    files = [Attached(path="old", data=b"o" * 1000), Attached(path="new", data=b"n" * 1000)]
    told = assemble(attachments=files, budget=BUDGET)
    assert (told.count("n" * 1000), told.count("o" * 600), told.count("o" * 601)) == (1, 1, 0)
    assert told.index("file: old") < told.index("file: new")


def test_what_is_no_text_and_what_is_lost_is_named() -> None:
    told = assemble(attachments=[Attached(path="a", data=b"\xff\0"), Attached(path="b", data=None)], budget=BUDGET)
    assert "[2 bytes that are not text]" in told
    assert "[its content is lost]" in told


def test_of_many_decisions_the_newest_stay_and_the_rest_is_counted() -> None:
    told = assemble(decisions=[f"decision {number}" for number in range(100)], budget=BUDGET)
    assert "- decision 99" in told
    assert "decision 0\n" not in told
    lines = told.splitlines()
    assert lines[2] == f"- [{100 - (len(lines) - 3)} earlier decisions are left out]"


def test_decisions_are_found_in_what_is_said() -> None:
    assert find_decisions("a [DECISION: One] b [Decision:two\n lines] [DECISION: One] [DECISION:] [DECISION: ...]") == (
        "One",
        "two lines",
    )


def test_what_is_not_closed_or_far_too_long_is_no_decision() -> None:
    assert find_decisions("[DECISION: never ends" + "[DECISION: x" * 2000) == ()
    assert find_decisions(f"[DECISION: {'x' * 5000}]") == ()
