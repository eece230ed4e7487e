"""`trainx report`: one page with all that a run's folder tells, whole HTML, nothing fetched, no
text of a user's taken for markup; in a browser where there is one."""
import html.parser
import json
import re
import shutil
import subprocess
import time
import unittest
import xml.etree.ElementTree

from support import Trainx, main, tiny

BROWSER = next(
    (b for b in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if b), None)
VOID_TAGS = {"meta", "br", "hr", "img", "input", "link"}


class Whole(html.parser.HTMLParser):
    """Every element is closed by its own end."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.tags = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in VOID_TAGS:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> within {self.open}"
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


class Report(Trainx):
    forks = True

    def page(self, run):
        self.run_trainx("report", f"outputs/{run}")
        text = (self.folder / "outputs" / run / "report.html").read_text()
        whole = Whole()
        whole.feed(text)
        self.assertEqual(whole.open, [])
        self.assertFalse(
            re.findall(r"""(?:src|href)\s*=|@import|url\(|https?://(?!www\.w3\.org/2000/svg)""",
                       text), "it would fetch something")
        for svg in re.findall(r"<svg.*?</svg>", text, re.S):
            xml.etree.ElementTree.fromstring(svg)
            self.assertNotRegex(svg, r"\b(nan|inf)\b")
        return text, " ".join(whole.text), whole

    def test_a_run_is_told_whole(self):
        self.run_trainx("train", self.recipe(tiny(steps=40)), "optimizer.lr=0.002", "--profile",
                        "3")
        page, text, whole = self.page("tiny")
        self.assertEqual(whole.tags.count("figure"),
                         5)  # loss, perplexity, learning rate, gradient norm, tokens per second
        for words in ("done", "step 40", "Memory", "optimizer state", "--profile", "optimizer",
                      "Checkpoints", "checkpoint-40", "latest", "entropy", "optimizer.lr"):
            self.assertIn(words, text)
        rows = re.findall(
            r"<tr><td><code>([^<]*)</code></td><td><code>([^<]*)</code></td><td>([^<]*)</td></tr>",
            page)
        self.assertIn(("optimizer.lr", "0.002", "command line"),
                      [(k, v, "command line" if "command" in o else o) for k, v, o in rows])
        self.assertIn("tiny.yaml:", dict((k, o) for k, _, o in rows)["schedule.warmup"])
        spots = [
            json.loads(s.replace("&quot;", '"').replace("&amp;", "&"))
            for s in re.findall(r"data-spots='([^']*)'", page)
        ]
        self.assertEqual([name for name, _ in spots[0]], ["training", "held out"])
        losses = [m["loss"] for m in self.metrics("tiny")]
        self.assertEqual(len(spots[0][0][1]), len(losses))
        for (_, _, told), loss in zip(spots[0][0][1], losses):
            self.assertAlmostEqual(float(told.split(": ")[1]), loss, delta=1e-3 * loss)
        heights = [y for _, y, _ in spots[0][0][1]]
        self.assertEqual(heights.index(min(heights)), losses.index(max(losses)),
                         "the highest loss is at the top")
        work = dict(
            re.findall(
                r"<span>([^<]*)</span><span class='track'>.*?<span class='number'>([^<]*)</span>",
                page[page.index("A step"):]))
        self.assertIn("matrix products", work)

    def test_what_is_missing_or_wrong_is_left_out_and_said(self):
        self.run_trainx("train", self.recipe(tiny(steps=4)), "schedule.warmup=0 steps",
                        "run.name=<b>&'\"x")
        run = self.folder / "outputs" / "<b>&'\"x"
        with open(run / "metrics.jsonl", "a") as log:
            log.write(
                '{"step": 5, "loss": null, "grad_norm": null}\nno line of ours\n{"step": "6"}\n[1]\n{"loss": 1}\n{"step":7,"loss":1e999}\n'
            )
        page, text, _ = self.page("<b>&'\"x")
        self.assertNotIn("<b>&'", page)
        self.assertIn("<b>&'\"x", text)
        self.check_sentence("report.unreadable_lines",
                            re.search(r"\d+ lines of metrics\.jsonl [^\n.;<]*? read\b", text)[0])
        for name in ("status.json", "plan.json", "run.json", "metrics.jsonl"):
            (run / name).unlink()
        shutil.rmtree(run / "checkpoint-4")
        _, text, _ = self.page("<b>&'\"x")
        self.check_sentence("report.nothing_logged",
                            re.search(r"[^.;>\n]*\blogged yet\b[^.;<\n]*", text)[0].strip())
        self.assertNotIn("Checkpoints", text)
        for name in ("status.json", "plan.json", "run.json"):
            (run / name).write_text(
                '{"memory": 3, "argv": {"a": 1}, "devices": [7], "time": [], "state": 1, "total_bytes": "x"}'
            )
        self.page("<b>&'\"x")
        (run / "resolved.yaml").unlink()
        self.refused("report", run, code=66, names=run, sentence="report.no_run")
        self.refused("report", "nowhere", code=66, names="nowhere", sentence="report.no_folder")

    def test_a_run_that_goes_on_has_a_report(self):
        running = self.start_trainx("train", self.recipe(tiny(steps=100000, every=100000)))
        log = self.folder / "outputs" / "tiny" / "metrics.jsonl"
        while running.poll() is None and not (log.exists()
                                              and len(log.read_text().splitlines()) > 5):
            time.sleep(0.05)
        try:
            self.assertIn("running", self.page("tiny")[1])
        finally:
            running.terminate()
            running.wait(timeout=60)

    @unittest.skipUnless(BROWSER, "no browser is installed")
    def test_a_browser_draws_it(self):
        self.run_trainx("train", self.recipe(tiny(steps=40)))
        self.page("tiny")
        flags = [
            "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={self.folder}/browser",
            "--virtual-time-budget=3000"
        ]
        page = f"file://{self.folder}/outputs/tiny/report.html"
        done = subprocess.run([BROWSER, *flags, "--dump-dom", page], capture_output=True, text=True,
                              timeout=120)
        self.assertEqual(done.stdout.count("class=\"tip\""), 5,
                         done.stderr[-2000:])  # the script ran over every plot
        picture = self.folder / "page.png"
        subprocess.run(
            [BROWSER, *flags, "--window-size=1400,2400", f"--screenshot={picture}", page],
            capture_output=True, timeout=120)
        self.assertGreater(picture.stat().st_size, 50_000)


if __name__ == "__main__":
    main()
