from __future__ import annotations

import pytest

from segue.formats.store_url import folder_of, hide_password


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://alice:s3cret@db/x", "postgresql://alice:***@db/x"),
        ("postgresq://alice:s3cret@db:1/x?a=b", "postgresq://alice:***@db:1/x?a=b"),
        ("postgresql:/alice:s3cret@db", "postgresql:/alice:***@db"),
        ("postgresql:alice:s3cret@db", "postgresql:***@db"),
        ("postgresql//alice:s3cret@db", "postgresql//alice:***@db"),
        ("alice:s3cret@db", "alice:***@db"),
        ("alice:s3cret:s3cret@db", "alice:***@db"),
        ("pg://alice:s3cret/x", "pg://alice:***/x"),
        ("pg://alice:1s3cret", "pg://alice:***"),
        ("postgresql://:s3cret@db", "postgresql://:***@db"),
        ("pg://alice:s3/c?r:e@t#s3cret@db/x", "pg://alice:***@db/x"),
        ("pg://al/ice:s3cret@db/x", "pg://al/ice:***@db/x"),
        ("pg://alice:s3cret\n@db/x", "pg://alice:***@db/x"),
        ("pg://db/x?user=a&password=s3cret&sslmode=require", "pg://db/x?user=a&password=***&sslmode=require"),
        ("pg://db/x?PASSWORD=s3cret", "pg://db/x?PASSWORD=***"),
        ("pg://db/x?sslpassword=s3cret", "pg://db/x?sslpassword=***"),
        ("pg://db/x?p%61ssword=s3cret", "pg://db/x?p%61ssword=***"),
        ("pg://db/x?passwor%64=s3cret&a=b", "pg://db/x?passwor%64=***&a=b"),
        ("host=db user=alice password=s3cret dbname=x", "host=db user=alice password=*** dbname=x"),
        ("host=db password='s3cret s3cret' dbname=x", "host=db password=*** dbname=x"),
    ],
)
def test_a_password_is_hidden_wherever_it_is_in_what_was_meant_to_be_a_url(url: str, shown: str) -> None:
    assert hide_password(url) == shown
    assert "s3cret" not in hide_password(url)


@pytest.mark.parametrize(
    "url",
    [
        "journal:/home/me/a:b",
        "journal:~/notes",
        "memory:",
        "pg://alice@db:5432/x?schema=y",
        "",
        ":",
        "@",
        "pg://db:1",
        "pg://[::1]:2/x",
    ],
)
def test_what_has_no_password_is_shown_as_it_is(url: str) -> None:
    assert hide_password(url) == url


def test_a_server_has_no_folder() -> None:
    assert folder_of("journal:/home/me") == "/home/me"
    assert folder_of("postgresql://db/home/me") == ""
    assert folder_of("postgres://db/home/me") == ""
