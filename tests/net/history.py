"""The net of earlier commits, as far as git knows them, and whether each change was declared."""

import pathlib
import subprocess

import comparing
import declaring
import recording

NET, CHANGES = "tests/golden/net.json.xz", "tests/net/changes.json"
LAYERS = tuple(
    f"lib/{layer}"
    for layer in ("graph", "passes", "program", "plan", "architectures", "operations")
)


class Repository:
    def __init__(self, root):
        self.root = pathlib.Path(root)

    def git(self, *words, text=True):
        """None where git does not answer: no repository, no such commit, no such file."""
        try:
            done = subprocess.run(
                ["git", "-C", str(self.root), *words], capture_output=True, text=text, check=True
            )
        except (OSError, subprocess.CalledProcessError):
            return None
        return done.stdout.strip() if text else done.stdout

    def commit(self, name):
        return self.git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")

    def base(self):
        """The last accepted commit before this one: where this branch left origin's main, else the
        commit before this one; None where that is not known."""
        head, main = self.commit("HEAD"), self.commit("origin/main")
        base = self.git("merge-base", "HEAD", "origin/main") if head and main else None
        return base if base and base != head else self.commit("HEAD^")

    def changed_layers(self, base):
        """Those of LAYERS that differ from that commit, in files of git or beside them."""
        changed = self.git("diff", "--name-only", base, "--", *LAYERS) or ""
        new = self.git("ls-files", "--others", "--exclude-standard", "--", *LAYERS) or ""
        files = changed.splitlines() + new.splitlines()
        return [layer for layer in LAYERS if any(f.startswith(layer + "/") for f in files)]

    # "" is the working tree
    def net(self, commit):
        """The recording; None where there is no net, or one of another form."""
        data = self.git("show", f"{commit}:{NET}", text=False) if commit else self._bytes(NET)
        if not data:
            return None
        found = recording.parse(data)
        return found if "about" in found else None

    def changes(self, commit):
        if commit:
            text = self.git("show", f"{commit}:{CHANGES}")
        else:
            data = self._bytes(CHANGES)
            text = data.decode() if data else None
        return declaring.parse(text) if text else []

    def _bytes(self, name):
        path = self.root / name
        return path.read_bytes() if path.exists() else None

    def is_edited(self):
        """Do the net's files differ from those of HEAD?"""
        return bool(self.git("status", "--porcelain", "--", NET, CHANGES))

    def commits_of_the_net(self, base):
        """After base, oldest first."""
        listed = self.git("log", "--format=%H", "--full-history", f"{base}..HEAD", "--", NET)
        return list(reversed((listed or "").split()))

    def parents(self, commit):
        return (self.git("log", "-1", "--format=%P", commit) or "").split()


def undeclared(repository, base):
    """Sentences about commits after `base`, and the working tree, that change the net and do not
    say so."""
    versions = [(c, repository.parents(c)) for c in repository.commits_of_the_net(base)]
    if repository.is_edited():
        versions.append(("", ["HEAD"]))
    out = []
    for commit, parents in versions:
        now = repository.net(commit)
        before = [net for net in map(repository.net, parents) if net is not None]
        if now is None or not before or now in before:
            continue  # a merge has the net of one of the two
        missed = declaring.undeclared(comparing.between(before[0], now), repository.changes(commit))
        if missed:
            where = f"commit {commit[:10]}" if commit else "the working tree"
            out.append(f"{where} changes the net and does not say so in {CHANGES}:")
            out.append(comparing.said(missed, most_differences=5))
    return out


def stale(repository):
    """Sentences about what the declaration names and this commit does not change."""
    changes = repository.changes("")
    if not changes:
        return []
    before = "HEAD" if repository.is_edited() else "HEAD^"
    old, new = repository.net(repository.commit(before) or "HEAD^"), repository.net("")
    if old is None or new is None:
        return []
    found = comparing.between(old, new)
    if not found:
        return [
            f"{CHANGES} declares what an earlier commit changed: clear it (scripts/compare_builds "
            "clear)"
        ]
    return [f"{CHANGES}: {sentence}" for sentence in declaring.without_effect(found, changes)]
