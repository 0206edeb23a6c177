"""A command with subcommands, such as `segue trash`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from segue.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence


class Group(click.Group):
    """Lists its subcommands in the given order, followed by one example of each."""

    def __init__(self, name: str, verbs: Sequence[click.Command], *, help: str) -> None:
        super().__init__(
            name, help=help, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=False
        )
        for verb in verbs:
            self.add_command(verb)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            raise UsageError(
                f"unknown command {ctx.command_path} {args[0]!r:.60}", hint=f"use one of {', '.join(self.commands)}"
            )
        return super().resolve_command(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        with formatter.section("Examples"):
            for verb in self.commands.values():
                for example in getattr(verb, "examples", ())[:1]:
                    formatter.write(f"  {example}\n")
