"""scripts/faults finds what a trainx does wrong: one that calls every checkpoint valid, one that
loses a checkpoint, one that ends with another code."""
import os
import re
import shlex
import subprocess

from support import ROOT, TRAINX, Trainx, main, sampled

NO_SYNC = "int fsync(int f) { return 0; }\nint fdatasync(int f) { return 0; }\n"
LIES = (
    ("silent", "bit_flips", 'case "$1" in ckpt) exit 0;; esac'),
    ("lost", "random_kills", 'case "$1" in ckpt) exit 65;; esac'),
    ("wrong", "signals", 'case "$*" in *name=hurt*) exit 7;; esac'),
    ("lost", "power_cuts", 'export LD_PRELOAD="{folder}/no_sync.so $LD_PRELOAD"'),
)


class Faults(Trainx):
    def campaigns(self, first, *args):
        """Of a trainx that does something else first."""
        binary = self.folder / "bin" / "trainx"
        binary.parent.mkdir(exist_ok=True)
        binary.write_text(f'#!/bin/sh\n{first}\nexec {shlex.quote(TRAINX)} "$@"\n')
        binary.chmod(0o755)
        return self.faults(*args)

    def faults(self, *args):
        return subprocess.run([ROOT / "scripts" / "faults", *args], capture_output=True, text=True,
                              cwd=self.folder, timeout=300,
                              env={**os.environ, "TRAINX_BUILD_DIR": str(self.folder)})

    @sampled
    def test_what_is_wrong_is_counted(self):
        (self.folder / "no_sync.c").write_text(NO_SYNC)
        subprocess.run(["cc", "-shared", "-o", "no_sync.so", "no_sync.c"], cwd=self.folder,
                       check=True)
        for kind, campaign, lie in self.drawn(LIES):
            with self.subTest(campaign=campaign):
                done = self.campaigns(lie.replace("{folder}", str(self.folder)), campaign,
                                      "--first", "--seconds", "200", "--seed", str(self.seed),
                                      "--variant", "one rank", "--out", "counts.json")
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertRegex(done.stdout, rf"(?m)^{campaign}: {kind}: ")
                names, _, row = (re.split(r" *\| *", line) for line in done.stdout.splitlines()
                                 if line.startswith("|"))
                self.assertGreater(int(row[names.index(kind)]), 0)
                self.assertNotIn("not run", done.stdout)
                twice = self.faults("--sum", "counts.json", "counts.json").stdout.splitlines()
                self.assertEqual(int(re.split(r" *\| *", twice[-1])[names.index(kind)]),
                                 2 * int(row[names.index(kind)]))

    def test_no_such_campaign(self):
        self.assertEqual(self.campaigns("", "nonsense").returncode, 2)


if __name__ == "__main__":
    main()
