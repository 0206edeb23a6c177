"""Repositories of a stranger who has set every trap that git knows: each leaves a file when anything runs it."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from pathlib import Path

HOOKS = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg"),
    *("commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "reference-transaction"),
    *("post-rewrite", "post-index-change", "fsmonitor-watchman", "pre-auto-gc", "push-to-checkout"),
)
# Every setting of git that names a program, or leads to one; {} is a program that leaves a file called after the key.
PROGRAMS = (
    *("core.fsmonitor", "core.sshCommand", "core.gitProxy", "core.askPass", "core.editor", "core.pager"),
    *("core.alternateRefsCommand", "credential.helper", "credential.https://example.org.helper", "diff.external"),
    *("diff.bait.command", "diff.bait.textconv", "difftool.bait.cmd", "mergetool.bait.cmd", "merge.bait.driver"),
    *("filter.bait.clean", "filter.bait.smudge", "filter.bait.process", "filter.a b.clean", "filter.lfs.process"),
    *("gpg.program", "gpg.openpgp.program", "gpg.x509.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand"),
    *("pager.status", "pager.commit", "alias.st", "alias.status", "sequence.editor", "interactive.diffFilter"),
    *("uploadpack.packObjectsHook", "gc.recentObjectsHook", "trailer.bait.command", "trailer.bait.cmd"),
    *("remote.origin.uploadpack", "remote.origin.receivepack", "remote.origin.vcs", "web.browser", "browser.bait.cmd"),
    *(
        "man.bait.cmd",
        "guitool.bait.cmd",
        "imap.tunnel",
        "sendemail.sendmailCmd",
        "instaweb.httpd",
        "hook.bait.command",
    ),
)
SETTINGS = (
    ("core.hooksPath", "{hooks}"),
    ("core.attributesFile", "{attributes}"),
    ("include.path", "{include}"),
    ("init.templateDir", "{template}"),
    ("commit.gpgSign", "true"),
    ("log.showSignature", "true"),
    ("filter.bait.required", "true"),
    ("hook.bait.event", "reference-transaction"),
    ("remote.origin.url", "ssh://example.org/a"),
    ("remote.origin.url", "ext::{bait} ext"),
    ("remote.origin.promisor", "true"),
    ("remote.origin.partialclonefilter", "blob:none"),
    ("extensions.partialClone", "origin"),
    ("extensions.worktreeConfig", "true"),
    ("protocol.allow", "always"),
    ("protocol.ext.allow", "always"),
    ("protocol.ssh.allow", "always"),
    ("submodule.inner.update", "!{bait} submodule"),
    ("submodule.recurse", "true"),
    ("gc.auto", "1"),
    ("core.untrackedCache", "true"),
    ("core.splitIndex", "true"),
    ("core.preloadIndex", "true"),
    ("index.threads", "true"),
    ("diff.renames", "copies"),
    ("status.submoduleSummary", "true"),
    ("maintenance.auto", "true"),
)
ATTRIBUTES = (
    "*.txt filter=bait diff=bait merge=bait\n",  # of a file that is not ours
    "* diff=bait merge=bait text=auto ident\n.gitattributes filter=bait\n",
    "* filter=bait diff=bait merge=bait\n*.json filter=lfs\n",
)
LAYOUTS = ("real", "tracked", "file")
"""A `.git`; HEAD, config, objects and refs beside the workspace; a `.git` file that leads to such a folder."""
MISSING = ("nothing", "nothing", "nothing", "trees", "commits")


@dataclass
class Stranger:
    """A machine with a folder for the canaries, and who sets traps on it."""

    folder: Path
    environ: dict[str, str]

    @property
    def canaries(self) -> list[str]:
        """What has run."""
        return sorted(path.name for path in (self.folder / "ran").iterdir())

    def forget(self) -> None:
        for path in (self.folder / "ran").iterdir():
            path.unlink()

    def bait(self, name: str) -> str:
        """A program that leaves a file of this name; a filter then passes on what it reads."""
        plain = "".join(letter if letter.isalnum() else "-" for letter in name)
        path = self.folder / "bait" / plain
        if not path.exists():
            (self.folder / "ran").mkdir(parents=True, exist_ok=True)
            path.parent.mkdir(exist_ok=True)
            end = "exec cat" if name.endswith(".clean") else "exit 1"
            path.write_text(f"#!/bin/sh\n: > {self.folder}/ran/{plain}\n{end}\n", encoding="utf-8")
            path.chmod(0o755)
        return str(path)

    def git(self, root: Path, *words: str, check: bool = True) -> str:
        done = subprocess.run(
            ["git", *words], cwd=root, env=self.environ, check=check, capture_output=True, text=True, timeout=60
        )
        return done.stdout

    def make(
        self, root: Path, rng: random.Random, *, everything: bool = False, layout: str = "", missing: str = ""
    ) -> str:
        """A workspace in a repository with traps; what it is, in words."""
        chance = 1.0 if everything else rng.choice([0.15, 0.5, 0.9])
        layout = layout or rng.choice(LAYOUTS)
        missing = missing or ("nothing" if everything else rng.choice(MISSING))
        root.mkdir(parents=True)
        self.git(root, "init", "-q", "--template=")
        (root / ".workspace").mkdir()
        for name in ("notes.txt", "conversations/2026-01-05/001-plan-x/plan.md", ".gitattributes"):
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("one\n", encoding="utf-8")
        (root / ".gitattributes").write_text(rng.choice(("", *ATTRIBUTES)), encoding="utf-8")
        self.git(root, "add", ".")
        self.git(root, "commit", "-qm", "first")
        self._prepare_index(root, rng, chance)
        chosen = self._settings(root, rng, chance)
        for hook in HOOKS:
            self._trap(root / ".git" / "hooks" / hook)
        if rng.random() < chance:
            info = root / ".git" / "info"
            info.mkdir(exist_ok=True)
            (info / "attributes").write_text(rng.choice(ATTRIBUTES), encoding="utf-8")
        self._lose(root, missing)
        self._lay_out(root, layout)
        (root / "conversations/2026-01-05/001-plan-x/plan.md").write_text("two\n", encoding="utf-8")
        return f"{layout}, {missing} missing, {chosen}"

    def _prepare_index(self, root: Path, rng: random.Random, chance: float) -> None:
        """Let the index be such that git looks at files which nobody asks it about: racy, watched, or split."""
        if rng.random() < chance:
            self.git(root, "-c", "core.fsmonitor=/bin/true", "update-index", "--fsmonitor")
        if rng.random() < chance / 2:
            self.git(root, "update-index", "--split-index", check=False)
        if rng.random() < chance:
            index = root / ".git" / "index"
            (root / "notes.txt").write_text("two\n", encoding="utf-8")  # of the same size, at the same moment
            at = int(index.stat().st_mtime)
            for path in (root / "notes.txt", index):
                os.utime(path, (at, at))
            self.git(root, "update-index", "--cacheinfo", f"100644,{'1' * 40},never.txt", check=False)
            self.git(root, "update-index", "--force-remove", "never.txt", check=False)
            for path in (root / "notes.txt", index):
                os.utime(path, (at, at))

    def _settings(self, root: Path, rng: random.Random, chance: float) -> list[str]:
        values = {
            "hooks": str(self.folder / "hooks"),
            "attributes": str(self.folder / "attributes"),
            "include": str(self.folder / "include"),
            "template": str(self.folder / "template"),
            "bait": self.bait("setting"),
        }
        for hook in HOOKS:
            self._trap(self.folder / "hooks" / hook)
            self._trap(self.folder / "template" / "hooks" / hook)
        (self.folder / "attributes").write_text(rng.choice(ATTRIBUTES), encoding="utf-8")
        include = f'[core]\n\tfsmonitor = {self.bait("include")}\n[filter "bait"]\n\tclean = {self.bait("include")}\n'
        (self.folder / "include").write_text(include, encoding="utf-8")
        chosen = [(key, self.bait(key)) for key in PROGRAMS if rng.random() < chance]
        chosen += [(key, value.format(**values)) for key, value in SETTINGS if rng.random() < chance]
        rng.shuffle(chosen)
        lines = [_section(key, f"!{value}" if key.startswith("alias.") else value) for key, value in chosen]
        with (root / ".git" / "config").open("a", encoding="utf-8") as file:
            file.write("".join(lines))
        return [key for key, _ in chosen]

    def _lose(self, root: Path, what: str) -> None:
        """As in a partial clone: what is not there would have to be fetched."""
        commit = self.git(root, "-c", "alias.x=x", "rev-parse", "HEAD").strip()
        tree = self.git(root, "rev-parse", f"{commit}^{{tree}}").strip()
        for name in {"nothing": (), "trees": (tree,), "commits": (commit, tree)}[what]:
            (root / ".git" / "objects" / name[:2] / name[2:]).unlink()
        shutil.rmtree(root / ".git" / "logs", ignore_errors=True)  # so that git has to be asked for the first commit

    def _lay_out(self, root: Path, layout: str) -> None:
        if layout == "tracked":
            with (root / ".git" / "config").open("a", encoding="utf-8") as file:
                file.write(_section("core.worktree", str(root)))
            for path in (root / ".git").iterdir():
                path.rename(root / path.name)
            (root / ".git").rmdir()
        elif layout == "file":
            (root / ".git").rename(root / "repository")
            (root / ".git").write_text("gitdir: repository\n", encoding="utf-8")

    def _trap(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_symlink():
            path.symlink_to(self.bait(f"hook {path.name}"))


def _section(key: str, value: str) -> str:
    section, _, rest = key.partition(".")
    name, _, variable = rest.rpartition(".")
    return f'[{section} "{name}"]\n\t{variable} = {value}\n' if name else f"[{section}]\n\t{variable} = {value}\n"
