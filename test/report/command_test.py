# SPDX-License-Identifier: MIT
"""The command: what it refuses, with which words, and that no half of a page stays behind."""
import copy
import json
import os
import resource
import shutil
import subprocess
import tempfile
import unittest

from make_summary import job, summary

COMMAND = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "src", "report",
                       "bufenlarge_report")
GOOD = summary(job(4, 2, 1))


def changed(*path, value=None, remove=False):
    """The good summary with one thing changed."""
    made = copy.deepcopy(GOOD)
    part = made
    for step in path[:-1]:
        part = part[step]
    if remove:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    return made


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ["REPORT_TEST_WORK"])
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def put(self, content, name="summary.json"):
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else json.dumps(content).encode())
        return self.path(name)

    def run_command(self, *words, **options):
        return subprocess.run([COMMAND, *words], text=True, capture_output=True, timeout=60, cwd=self.folder,
                              stdin=subprocess.DEVNULL, check=False, **options)

    def refused(self, words, *arguments, **options):
        """The command ends with status 2 and one line that has the words, and leaves no page."""
        before = {name for name in os.listdir(self.folder)}
        ended = self.run_command(*arguments, **options)
        self.assertEqual(ended.returncode, 2, ended.stderr)
        self.assertEqual(ended.stdout, "")
        self.assertEqual(ended.stderr.count("\n"), 1, ended.stderr)
        self.assertTrue(ended.stderr.startswith("bufenlarge_report: "), ended.stderr)
        self.assertIn(words, ended.stderr)
        self.assertEqual({name for name in os.listdir(self.folder)}, before)

    def refused_content(self, words, content):
        name = self.put(content)
        self.refused(words, name)

    # ---- the command line

    def test_help_and_version(self):
        ended = self.run_command("--help")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertIn("usage: bufenlarge_report SUMMARY", ended.stdout)
        self.assertEqual(self.run_command("--version").stdout, "bufenlarge_report 0.1.0 (layout 1 of the summary)\n")

    def test_the_page_goes_beside_the_summary_or_where_it_is_told(self):
        name = self.put(GOOD)
        self.assertEqual(self.run_command(name).stdout, self.path("summary.html\n"))
        self.assertEqual(self.run_command("-o", "one.html", name).stdout, "one.html\n")
        self.assertEqual(self.run_command(name, "--output=two.html").returncode, 0)
        pages = []
        for page in ("summary.html", "one.html", "two.html"):
            with open(self.path(page), encoding="utf-8") as file:
                pages.append(file.read())
        pages.append(self.run_command(name, "-o", "-").stdout)
        self.assertTrue(pages[0].startswith("<!DOCTYPE html>") and pages[0].endswith("</html>\n"))
        self.assertEqual(set(pages), {pages[0]})

    def test_standard_input_is_a_summary_too(self):
        ended = subprocess.run([COMMAND, "-", "-o", "-"], input=json.dumps(GOOD), text=True, capture_output=True,
                               timeout=60, check=True)
        self.assertIn("a job of 4 processes", ended.stdout)

    def test_wrong_words(self):
        name = self.put(GOOD)
        self.refused("there is no option '--none'; there are --output FILE (-o FILE), --version and --help", "--none")
        self.refused("expected one summary, got 0")
        self.refused("expected one summary, got 2", name, name)
        self.refused("-o needs the name of a file", name, "-o")
        self.refused("--output is empty; allowed is the name of a file", name, "--output=")

    # ---- what is read

    def test_files_that_cannot_be_read(self):
        self.refused("cannot read 'nothing.json': No such file or directory", "nothing.json")
        self.refused("Is a directory", self.folder)

    def test_what_is_no_json(self):
        self.refused_content("is empty", b"")
        self.refused_content("is empty", b" \n")
        self.refused_content("is no JSON: line 1, column 1", b"==== bufenlarge 0.1.0: 4 processes ====\n")
        self.refused_content("is no JSON: it is no text", b"\xff\xfe\x00")
        self.refused_content("is no JSON that a job writes", b"[" * 100000 + b"]" * 100000)
        self.refused_content("it has the number NaN", b'{"format": NaN}')

    def test_a_summary_that_is_cut_anywhere(self):
        whole = json.dumps(GOOD, indent=1).encode()
        for at in (1, 2, 30, len(whole) // 3, len(whole) // 2, len(whole) - 2):
            self.refused_content("is cut off in line", whole[:at])

    def test_json_of_others(self):
        for content in ([1, 2], {"name": "x", "version": 3}, 5, "text", {"format": 1}):
            self.refused_content("is JSON, but no summary of bufenlarge", content)

    def test_another_layout(self):
        self.refused_content("has layout 2 of the summary; allowed is 1", changed("format", value=2))
        self.refused_content('has layout "1" of the summary; allowed is 1', changed("format", value="1"))

    def test_names_that_are_missing(self):
        for path in (("processes",), ("knobs",), ("distributions",), ("totals", "bytes"), ("reports", 1, "provider"),
                     ("reports", 0, "channels"), ("reports", 2, "connections_most"), ("totals", "rendezvous"),
                     ("reports", 0, "channels", 0, "send"), ("reports", 0, "channels", 0, "peer"),
                     ("reports", 0, "channels", 0, "receive", "phase"), ("distributions", "direction_bytes"),
                     ("distributions", "direction_bytes", "percent_90"), ("totals", "directions_in_phase")):
            self.refused_content("is no whole summary of bufenlarge: ", changed(*path, remove=True))
            self.refused_content(f"no '{path[-1]}'", changed(*path, remove=True))

    def test_values_that_are_not_allowed(self):
        send = ("reports", 0, "channels", 0, "send")
        for path, value, words in (
                (("processes",), 0, "'processes' is 0; allowed is 1 and more"),
                (("reports", 3, "rank"), 4, "'rank' is 4; allowed is a whole number from 0 to 3"),
                (("processes",), True, "'processes' is true"),
                (("reports",), 5, "'reports' is 5; allowed is a list"),
                (("reports", 1), [], "a report is no object"),
                (("reports", 1, "rank"), 0, "there are two reports of rank 0"),
                (("reports", 1, "channels"), [7], "a channel of rank 1 has no 'peer'"),
                (("reports", 0, "channels", 0, "peer"), 4, "'peer' of a channel of 'rank 0' is 4"),
                (("reports", 0, "channels", 0, "connected"), 1, "allowed is true or false"),
                (("reports", 0, "host"), 5, "'host' of 'a report' is 5; allowed is a text"),
                ((*send, "phase"), 8, "'phase' is 8; allowed is a whole number from 0 to 7"),
                ((*send, "bytes"), -1, "'bytes' is -1"), ((*send, "bytes"), 1.5, "'bytes' is 1.5"),
                ((*send, "bytes"), 2**64, "'bytes' is 18446744073709551616"),
                ((*send, "bytes_in_phase"), [0], "'bytes_in_phase' is [0]; allowed are 8 numbers"),
                (send, {"phase": 0}, "'send' of a channel is no direction"),
                (("totals",), [], "totals is no object"), (("knobs", "GROWTH"), 1, "'GROWTH' of 'knobs' is 1"),
                (("distributions", "process_channels", "histogram"), [[1]], "has [1]; allowed are pairs"),
                (("distributions", "process_channels", "most"), "x", "'most' of 'process_channels' is \"x\"")):
            self.refused_content(words, changed(*path, value=value))

    def test_channels_of_too_many_processes(self):
        self.refused_content("it has reports of a job of 1025 processes; allowed are 1024",
                             changed("processes", value=1025))

    # ---- what is written

    def test_pages_that_cannot_be_written(self):
        name = self.put(GOOD)
        self.refused("cannot write 'none/page.html': No such file or directory; allowed is a file in a folder that can",
                     name, "-o", "none/page.html")
        self.refused(f"cannot write '{self.folder}': Is a directory", name, "-o", self.folder)
        self.refused("cannot write '/dev/full': No space left on device", name, "-o", "/dev/full")

    def test_a_full_disk_leaves_the_old_page_and_nothing_else(self):
        name = self.put(GOOD)
        self.put(b"the old page", "page.html")
        self.refused("cannot write 'page.html': File too large", name, "-o", "page.html",
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
        with open(self.path("page.html"), "rb") as file:
            self.assertEqual(file.read(), b"the old page")

    def test_standard_output_that_is_full(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            ended = subprocess.run([COMMAND, self.put(GOOD), "-o", "-"], stdout=full, stderr=subprocess.PIPE, text=True,
                                   timeout=60, check=False)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("cannot write '-': No space left on device", ended.stderr)

    def test_a_page_has_the_rights_of_a_new_file_and_a_link_stays(self):
        name = self.put(GOOD)
        os.symlink("target.html", self.path("page.html"))
        ended = self.run_command(name, "-o", "page.html", preexec_fn=lambda: os.umask(0o027))
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertTrue(os.path.islink(self.path("page.html")))
        self.assertEqual(os.stat(self.path("target.html")).st_mode & 0o777, 0o640)

    def test_installed_without_its_parts(self):
        os.mkdir(self.path("bin"))
        shutil.copy(COMMAND, self.path("bin"))
        ended = subprocess.run([self.path("bin/bufenlarge_report"), "--version"], text=True, capture_output=True,
                               timeout=60, check=False)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("its parts are missing; they belong into ../share/bufenlarge/report", ended.stderr)
