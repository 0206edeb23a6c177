"""opencode: a database, which is read in place, and into which `opencode import` copies a JSON document."""

from __future__ import annotations

from segue.integrations.shared.integration import CommandFileFormat, Integration

INTEGRATION = Integration(
    name="opencode",
    title="opencode",
    proven_with="1.18.33",
    carries=frozenset({"failed", "images", "result_images"}),
    can_preview=True,
    can_launch=True,
    has_mcp_config=True,
    command_files=CommandFileFormat(
        syntax="markdown",
        path=".opencode/commands/{}.md",
        invocation="/{}",
        arguments="$ARGUMENTS",
        # Arguments ($1, $ARGUMENTS, ${NAME}), the output of a command (!`…`, a fence that starts with ```!), a @path.
        active=r"\$(?=[\w{])|!(?=`)|(?<=```)(?=!)|(?<!\w)@(?=\S)",
    ),
    settings_paths=(".config/opencode", ".opencode"),
    state_paths=(".local/share/opencode", ".local/state/opencode", ".cache/opencode"),
)
