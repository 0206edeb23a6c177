"""Plain text columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.comparison import Compared
    from bench.measure import Row


def show(rows: Sequence[Row], peers: Sequence[Compared], title: str) -> str:
    parts = [title]
    if rows:
        parts.append(_columns([_ROW_HEADER, *(_row(row) for row in rows)], right={1, 2, 4, 5}))
    if peers:
        parts += ["append: over write + fdatasync; load: over a plain read of a JSON-lines file", _peers(peers)]
    return "\n\n".join(parts)


_ROW_HEADER = ("what / over what", "ratio", "at most", "", "ours", "theirs", "")


def _row(row: Row) -> tuple[str, ...]:
    ratio = "-" if row.ratio is None else _number(row.ratio)
    target = "" if row.target is None else _number(row.target)
    return (f"{row.section}: {row.name}", ratio, target, row.verdict, row.ours, row.theirs, row.note)


def _peers(peers: Sequence[Compared]) -> str:
    appends = list(dict.fromkeys(size for peer in peers for size in peer.append))
    loads = list(dict.fromkeys(size for peer in peers for size in peer.load))
    header = (
        "peer",
        "version",
        *(f"append at {int(size):,}" for size in appends),
        *(f"load of {int(size):,}" for size in loads),
        "an acknowledged turn survives",
        "because an append makes",
    )
    lines = [
        (
            peer.title,
            peer.version,
            *(_number(peer.append.get(size)) for size in appends),
            *(_number(peer.load.get(size)) for size in loads),
            peer.survives,
            peer.why,
        )
        for peer in peers
    ]
    return _columns([header, *lines], right=set(range(2, 2 + len(appends) + len(loads))))


def _columns(lines: Sequence[tuple[str, ...]], *, right: set[int]) -> str:
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
    shown: list[str] = []
    for line in lines:
        cells = [
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        shown.append("  ".join(cells).rstrip())
    return "\n".join(shown)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    if value >= 100:
        return f"{value:.0f}x"
    return f"{value:.2f}x" if value >= 0.1 else f"1/{1 / value:.0f}"
