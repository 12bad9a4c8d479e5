# SPDX-License-Identifier: MIT
"""The pages in a headless Chromium: that the script runs, draws what the legend says, and shows the figures of a pair.
Each page is opened with a script behind its own, which acts as a user would and writes what it finds into the page."""
import html
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import figures
import page
from figures_test import read
from make_summary import job, process, channel, direction

WORK = os.environ["REPORT_TEST_WORK"]
# The colour of the middle of a pair's place in the matrix, and of the signs in the legend.
PROBE = """<pre id="found"></pre><script>
const found = {}, matrix = document.getElementById("matrix");
addEventListener("error", (event) => { found.error = event.message; });
function colourAt(sender, receiver) {
  const ranks = JSON.parse(document.getElementById("data").textContent).ranks, cell = (matrix.width - 68) / ranks;
  const [red, green, blue] = matrix.getContext("2d").getImageData(64 + Math.floor((receiver + 0.5) * cell),
    48 + Math.floor((sender + 0.5) * cell), 1, 1).data;
  return `rgb(${red}, ${green}, ${blue})`;
}
function legend() {
  return [...document.querySelectorAll("#legend li")].map((row) => [
    row.querySelector(".swatch") ? getComputedStyle(row.querySelector(".swatch")).backgroundColor : "",
    row.textContent]);
}
function choose(name, value) {
  document.querySelector(`input[name=${name}][value="${value}"]`).click();
}
function pair(sender, receiver) {
  for (const [id, value] of [["sender", sender], ["receiver", receiver]]) {
    document.getElementById(id).value = value;
    document.getElementById(id).dispatchEvent(new Event("change"));
  }
  return document.getElementById("pair").textContent;
}
function point(sender, receiver) {
  const box = matrix.getBoundingClientRect(), cell = (matrix.width - 68) / JSON.parse(
    document.getElementById("data").textContent).ranks, scale = box.width / matrix.width;
  matrix.dispatchEvent(new PointerEvent("pointermove", {
    clientX: box.left + (64 + (receiver + 0.5) * cell) * scale,
    clientY: box.top + (48 + (sender + 0.5) * cell) * scale}));
  return document.getElementById("pair").textContent;
}
%s
document.getElementById("found").textContent = JSON.stringify(found);
</script></body>"""


def browser(*words):
    """Runs Chromium with a profile of its own, and returns what it prints."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        raise AssertionError("there is no chromium (Debian package chromium)")
    profile = tempfile.mkdtemp(dir=WORK)
    try:
        return subprocess.run([program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                               f"--user-data-dir={profile}", *words], text=True, capture_output=True, timeout=100,
                              check=True).stdout
    finally:
        shutil.rmtree(profile, ignore_errors=True)


def put(name, text):
    path = os.path.join(WORK, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def act(name, made, script):
    """What a script finds in the page of a summary."""
    path = put(f"{name}-probe.html", page.make(made).replace("</body>", PROBE % script))
    dom = browser("--window-size=1500,1200", "--dump-dom", f"file://{path}")
    found = json.loads(html.unescape(re.search(r'<pre id="found">(.*?)</pre>', dom, re.S)[1]))
    if "error" in found:
        raise AssertionError(f"{name}: a script failed: {found['error']}")
    return found


def picture(name, made, height, *words):
    """A picture of a page, whose width and height it checks."""
    path = put(f"{name}.html", page.make(made))
    png = os.path.join(WORK, f"{name}.png")
    browser(f"--window-size=1500,{height}", *words, f"--screenshot={png}", f"file://{path}")
    with open(png, "rb") as file:
        head = file.read(24)
    return head[:8] == b"\x89PNG\r\n\x1a\n" and tuple(int.from_bytes(head[i:i + 4], "big") for i in (16, 20))


def four_ranks():
    """Rank 3 reported nothing; each other direction is another kind of pair."""
    large, middle = direction(2, 1000, 990, (8000, 0, 9000000)), direction(1, 7, 0, (0, 2800, 0))
    tiny, none = direction(0, 2, 0, (16, 0, 0)), direction()
    return read([process(0, "node0", [channel(1, large, middle), channel(3, tiny, none)]),
                 process(1, "node0", [channel(0, middle, large), channel(2, none, tiny)]),
                 process(2, "node1", [channel(1, tiny, none)])], processes=4)


class Four(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.found = act("four", four_ranks(), """
found.legend = legend();
found.first = document.getElementById("pair").textContent;
for (const [sender, receiver] of [[0, 1], [1, 0], [0, 3], [1, 2], [0, 2], [3, 3]])
  found[`${sender}${receiver}`] = colourAt(sender, receiver);
found.none = pair(0, 2);
found.silent = pair(3, 0);
found.tiny = point(2, 1);
matrix.dispatchEvent(new PointerEvent("pointerleave"));
found.back = document.getElementById("pair").textContent;
matrix.focus();
matrix.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowUp", cancelable: true}));
found.moved = document.getElementById("pair").textContent;
choose("colour", "bytes");
found.bytes_legend = legend();
found.bytes = [colourAt(0, 1), colourAt(1, 0), colourAt(0, 3)];
choose("background", "dark");
choose("colour", "phase");
found.dark = [getComputedStyle(document.body).backgroundColor, colourAt(0, 1), legend()];
""")

    def test_the_legend_has_phases_and_what_is_absent(self):
        self.assertEqual([text for _, text in self.found["legend"]], [
            "phase 0, slots of 256 bytes: 2 directions", "phase 1, slots of 512 bytes: 1 direction",
            "phase 2, slots of 8,256 bytes: 1 direction", "a channel, but no message this way: 2 directions",
            "no channel: 9 pairs, which sent nothing or used shared memory",
            "unknown, neither of the two reported: 1 pair"])

    def test_a_pair_has_the_colour_of_the_legend(self):
        colours = [colour for colour, _ in self.found["legend"]]
        self.assertEqual(len(set(colours[:5])), 5)
        for pair, row in (("03", 0), ("10", 1), ("01", 2), ("12", 3), ("02", 4)):
            self.assertEqual(self.found[pair], colours[row], pair)
        self.assertNotIn(self.found["33"], colours[:5])

    def test_bytes_have_a_scale_of_their_own(self):
        self.assertEqual(self.found["bytes_legend"][0][1], "16 bytes8.6 MiB")
        most, middle, least = self.found["bytes"]
        self.assertEqual((most, least), ("rgb(13, 54, 107)", "rgb(134, 182, 239)"))
        self.assertNotIn(middle, (most, least))

    def test_the_figures_of_a_pair(self):
        self.assertIn("rank 0 on node0 to rank 1 on node0", self.found["first"])
        for words in ("phase2: 16 slots of 8,256 bytes", "messages1,000", "in fragments990", "bytes sent9,008,000",
                      "8,000 in phase 0, 0 in phase 1, 9,000,000 in phase 2", "enlargements1"):
            self.assertIn(words, self.found["first"])

    def test_absent_channels_say_so(self):
        self.assertIn("these two sent nothing, or used shared memory", self.found["none"])
        self.assertIn("rank 3 to rank 0 on node0", self.found["silent"])
        self.assertIn("the receiver: the sender reported nothing", self.found["silent"])

    def test_a_pointer_shows_a_pair_and_keys_move(self):
        self.assertIn("rank 2 on node1 to rank 1 on node0", self.found["tiny"])
        self.assertEqual(self.found["back"], self.found["silent"])
        self.assertIn("rank 2 on node1 to rank 0 on node0", self.found["moved"])

    def test_a_dark_background(self):
        body, colour, legend = self.found["dark"]
        self.assertEqual(body, "rgb(13, 13, 13)")
        self.assertEqual(colour, legend[2][0])
        self.assertNotEqual(colour, self.found["01"])

    def test_pictures(self):
        self.assertEqual(picture("report-4", read(job(4, 2, 1)), 3300), (1500, 3300))
        self.assertEqual(picture("report-4-dark", four_ranks(), 3300, "--blink-settings=preferredColorScheme=0"),
                         (1500, 3300))


class ThousandRanks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.made = read(job(1024, 64, 7))
        cls.pairs = figures.pairs_of(cls.made)
        largest = max(cls.pairs, key=lambda pair: pair.bytes)
        other = next(pair for pair in cls.pairs if pair.phase == 1 and pair.messages)
        cls.largest, cls.other = largest, other
        cls.found = act("thousand", cls.made, f"""
found.canvas = [matrix.width, matrix.height, matrix.dataset.drawn];
found.legend = legend();
found.first = document.getElementById("pair").textContent;
found.other = point({other.sender}, {other.receiver});
point({largest.sender}, {largest.receiver});
const image = matrix.getContext("2d").getImageData(64, 48, 1024, 1024).data, count = {{}};
for (let i = 0; i < image.length; i += 4) {{
  const name = `rgb(${{image[i]}}, ${{image[i + 1]}}, ${{image[i + 2]}})`;
  count[name] = (count[name] || 0) + 1;
}}
found.count = count;
found.bars = document.querySelectorAll("#memory rect").length;
""")

    def test_each_pair_is_a_point_of_its_colour(self):
        self.assertEqual(self.found["canvas"], [1092, 1076, "phase"])
        for row, phase in enumerate((0, 1, 2)):
            colour, text = self.found["legend"][row]
            expected = sum(pair.phase == phase and pair.messages > 0 for pair in self.pairs)
            self.assertIn(f": {expected:,} directions", text)
            # The frame of the pair that is shown covers up to 81 points.
            self.assertTrue(expected - 81 <= self.found["count"][colour] <= expected, (phase, expected))

    def test_the_page_begins_with_the_pair_that_sent_most(self):
        self.assertIn(f"rank {self.largest.sender} on node{self.largest.sender // 64:03} to rank "
                      f"{self.largest.receiver} on", self.found["first"])
        self.assertIn(f"bytes sent{self.largest.bytes:,}", self.found["first"])

    def test_a_pointer_finds_one_of_a_million_pairs(self):
        self.assertIn(f"rank {self.other.sender} on node{self.other.sender // 64:03} to rank {self.other.receiver} on",
                      self.found["other"])
        self.assertIn(f"messages{self.other.messages:,}", self.found["other"])

    def test_each_process_and_node_has_a_bar(self):
        self.assertEqual(self.found["bars"], 1024 + 16)

    def test_a_picture(self):
        self.assertEqual(picture("report-1024", self.made, 3400), (1500, 3400))


class Sums(unittest.TestCase):
    def test_a_job_whose_processes_had_no_channel(self):
        found = act("none", read([process(0, "node0", []), process(1, "node0", [])]), """
found.legend = legend();
choose("colour", "bytes");
found.bytes_legend = legend();
found.pair = pair(0, 1);
""")
        none = "no channel: 4 pairs, which sent nothing or used shared memory"
        self.assertEqual([text for _, text in found["legend"]][-1], none)
        self.assertEqual([text for _, text in found["bytes_legend"]], ["nothing was sent", none])
        self.assertIn("these two sent nothing, or used shared memory", found["pair"])

    def test_a_page_without_channels_runs(self):
        made = read(job(128, 16, 2), keep_reports=False, processes=128)
        path = put("sums.html", page.make(made))
        dom = browser("--dump-dom", f"file://{path}")
        self.assertIn("This summary has no channels", dom)
        self.assertEqual(picture("report-sums", made, 2600), (1500, 2600))
