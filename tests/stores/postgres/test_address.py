from __future__ import annotations

import pytest
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict

from segue.errors import UsageError
from segue.links import place_of
from segue.stores.postgres.address import Address, parse_address

NO_ENVIRONMENT: dict[str, str] = {}


def parse(text: str, **environ: str) -> Address:
    return parse_address(text, environ)


def given(text: str, **environ: str) -> dict[str, object]:
    """What libpq gets of a URL, without what is always there."""
    found = conninfo_to_dict(parse(text, **environ).conninfo)
    return {key: value for key, value in found.items() if not key.startswith(("keepalives_", "tcp_"))}


LIBPQ_URLS = [
    "postgresql://",
    "postgresql://localhost",
    "postgresql://localhost:5433",
    "postgresql://localhost/mydb",
    "postgresql://user@localhost",
    "postgresql://user:secret@localhost",
    "postgresql://other@localhost/otherdb?connect_timeout=10&application_name=myapp",
    "postgresql://host1:123,host2:456/somedb?target_session_attrs=any",
    "postgresql://user@host1,host2:456,host3/somedb?target_session_attrs=read-write",
    "postgresql:///mydb?host=localhost&port=5433",
    "postgresql://[2001:db8::1234]/database",
    "postgresql://[::1]:5433,[::2]/database",
    "postgresql:///dbname?host=/var/lib/postgresql",
    "postgresql://%2Fvar%2Flib%2Fpostgresql/dbname",
    "postgresql://user:p%40%3A%2F%3F%23%25%26+%27%5C%20%C3%A4@localhost/d%2Fb",
    "postgresql://us%40er@localhost/?sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem",
    "postgresql://localhost?service=team",
    "postgresql://localhost/?ssl=true",
    "postgresql://a@localhost/x?user=b&dbname=y",
    "postgresql://localhost/x?options=-c%20geqo%3Doff",
    "postgresql://localhost:/x",
]


@pytest.mark.parametrize("url", LIBPQ_URLS)
def test_libpq_gets_what_it_would_read_from_the_url_itself(url: str) -> None:
    expected = {
        option.keyword.decode(): option.val.decode() for option in pq.Conninfo.parse(url.encode()) if option.val
    }
    assert given(url) == {"application_name": "segue"} | expected
    assert given(url.replace("postgresql:", "postgres:")) == given(url)
    assert given(url.partition(":")[2]) == given(url)


@pytest.mark.parametrize("url", LIBPQ_URLS)
def test_the_shown_url_opens_the_same_without_the_secrets(url: str) -> None:
    shown = parse(url).url
    secrets = {"password", "sslpassword"}
    assert {**given(shown), "port": ""} == {k: v for k, v in {**given(url), "port": ""}.items() if k not in secrets}
    assert parse(shown).url == shown


def test_parameters_of_segue_are_not_for_libpq() -> None:
    address = parse("//db/x?schema=team_1&space=blue&lease=1500ms&timeout=2m&sslmode=require")
    assert (address.schema, address.space) == ("team_1", "blue")
    assert (address.lease_seconds, address.timeout_seconds) == (1.5, 120)
    assert not {"schema", "space", "lease", "timeout"} & set(conninfo_to_dict(address.conninfo))
    assert address.url == "postgresql://db/x?sslmode=require&schema=team_1&space=blue&lease=1.5s&timeout=120s"
    assert parse("//db/x").url == "postgresql://db/x"


@pytest.mark.parametrize(
    "url",
    [
        "postgres://db/x",
        "postgresql://DB:5432/x",
        "//db/x?schema=segue",
        "//db/x?lease=30s&timeout=20",
        "//db:5432/x?password=s3cret",
        "//:s3cret@db/x",
        "///x?host=db&port=5432",
    ],
)
def test_one_database_has_one_url(url: str) -> None:
    assert parse(url).url == "postgresql://db/x"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://db/x?schema=y&space=z",
        "postgresql://bob@db/x?schema=y&space=z&sslmode=require&lease=5s",
        "postgres://alice:s3cret@db:5432/x?space=z&schema=y&application_name=me",
    ],
)
def test_one_place_is_the_same_for_every_role_and_option(url: str) -> None:
    assert place_of(url) == "postgresql://db/x?schema=y&space=z"


def test_different_databases_schemas_and_spaces_are_different_places() -> None:
    urls = ["//db/x", "//db/y", "//db/x?schema=b", "//db/x?space=b", "//db:1/x", "//e/x", "//db", "//bob@db"]
    assert len({place_of(f"postgresql:{url}") for url in urls}) == len(urls)


def test_a_url_that_cannot_be_parsed_is_its_own_place() -> None:
    assert place_of("postgresql://db:x/y") == "postgresql://db:x/y"


def test_what_libpq_takes_from_the_environment_is_shown_and_used() -> None:
    environ = {"PGHOST": "db", "PGPORT": "5433", "PGDATABASE": "x", "PGUSER": "alice", "PGPASSWORD": "s3cret"}
    assert parse("postgresql://", **environ).url == "postgresql://alice@db:5433/x"
    assert parse("postgresql://bob@other:1/y", **environ).url == "postgresql://bob@other:1/y"
    assert "password" not in given("postgresql://", **environ)


def test_a_service_comes_before_the_environment() -> None:
    assert parse("postgresql://?service=team", PGHOST="db").url == "postgresql:///?service=team"
    assert parse("postgresql:///x", PGHOST="db", PGSERVICE="team").url == "postgresql:///x?service=team"


def test_a_password_is_not_shown() -> None:
    address = parse("postgresql://alice:s3cret@db/x?sslpassword=s3cret2&sslkey=%2Fk")
    assert address.url == "postgresql://alice@db/x?sslkey=/k"
    assert "s3cret" in address.conninfo
    assert "s3cret" not in repr(address)
    assert "s3cret" not in str(address)
    assert f"{[address]}" == "[Address('postgresql://alice@db/x?sslkey=/k')]"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql:db/x", "begins with postgresql://"),
        ("db/x", "begins with postgresql://"),
        ("postgresql://alice:s3cr@s3cret@db/x", "@ or a / too many"),
        ("postgresql://alice:s3cret/s3cret@db/x", "@ or a / too many"),
        ("postgresql://alice:s3cret?s3cret@db/x", "@ or a / too many"),
        ("postgresql://alice:s3cret%zz@db/x", "% that is not followed"),
        ("postgresql://alice:s3cret%00@db/x", "%00"),
        ("postgresql://alice:s3cret%ff@db/x", "not UTF-8"),
        ("postgresql://alice:s3cret\n@db/x", "control character"),
        ("postgresql://db:s3cret/x", "port"),
        ("postgresql://db:123456/x", "port"),
        ("postgresql://[::1/x", "host"),
        ("postgresql://db/x?s3cret", "name=value"),
        ("postgresql://db/x?Schema=y", "name=value"),
        ("postgresql://db/x?schema=pg_temp", "'pg_temp' cannot be the name of the schema"),
        ("postgresql://db/x?schema=A", "'A' cannot be the name of the schema"),
        ('postgresql://db/x?schema=a"b', "cannot be the name of the schema"),
        ("postgresql://db/x?schema=", "'' cannot be the name of the schema"),
        (f"postgresql://db/x?schema={'a' * 64}", "cannot be the name of the schema"),
        ("postgresql://db/x?space=a b", "'a b' cannot be the name of a space"),
        ("postgresql://db/x?lease=0", "lease='0' in the URL is not a duration"),
        ("postgresql://db/x?lease=-1s", "is not a duration"),
        ("postgresql://db/x?timeout=soon", "timeout='soon' in the URL is not a duration"),
        ("postgresql://db/x?connect_timeout=soon", "connect_timeout"),
    ],
)
def test_a_malformed_url_is_refused_with_what_to_do_and_without_its_secrets(url: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(url)
    assert message in str(refused.value)
    assert refused.value.hint
    assert "s3cret" not in f"{refused.value} {refused.value.hint}"
    assert "\n" not in f"{refused.value} {refused.value.hint}"


def test_a_host_that_vanished_is_noticed_in_time_unless_the_url_or_a_service_decides() -> None:
    defaults = conninfo_to_dict(parse("postgresql://db/x?timeout=20s").conninfo)
    assert defaults["tcp_user_timeout"] == "10000"
    assert (defaults["keepalives_idle"], defaults["keepalives_interval"], defaults["keepalives_count"]) == (
        "2",
        "2",
        "3",
    )
    own = conninfo_to_dict(parse("postgresql://db/x?tcp_user_timeout=7&keepalives_idle=9").conninfo)
    assert (own["tcp_user_timeout"], own["keepalives_idle"]) == ("7", "9")
    assert "tcp_user_timeout" not in conninfo_to_dict(parse("postgresql://?service=team").conninfo)


def test_hosts_are_counted_and_a_primary_is_wanted_where_the_url_says_so() -> None:
    address = parse("postgresql://a,b:1,c/x?target_session_attrs=read-write&connect_timeout=7")
    assert (address.hosts, address.wants_primary, address.connect_timeout) == (3, True, 7)
    assert address.url == "postgresql://a,b:1,c/x?connect_timeout=7&target_session_attrs=read-write"
    address = parse("postgresql://a/x", PGTARGETSESSIONATTRS="primary")
    assert (address.hosts, address.wants_primary, address.connect_timeout) == (1, True, None)
