# SPDX-License-Identifier: MIT
"""The figures of summaries that are made here, beside the same figures computed by hand."""
import unittest

import charts
import figures
import growth
import page
import sections
from make_summary import channel, direction, job, process, summary
from summary import compact


def read(reports, **changes):
    """A summary as summary.read() returns it."""
    made = summary(reports, **changes)
    for report in made["reports"]:
        report["channels"] = [compact({**one, "send": compact(one["send"]), "receive": compact(one["receive"])})
                              for one in report["channels"]]
    return made


def two_ranks():
    """Rank 0 sends rank 1 in phase 2; rank 1 has sent nothing."""
    sent = direction(2, 100, 60, (1000, 200, 500000), refused=3)
    return [process(0, "one", [channel(1, sent, direction())], pinned_bytes_most=7000000, pinned_refused=4),
            process(1, "other", [channel(0, direction(), sent)], connections_most=9)]


class Pairs(unittest.TestCase):
    def test_a_direction_counts_once_with_the_figures_of_its_sender(self):
        pairs = figures.pairs_of(read(two_ranks()))
        self.assertEqual([(one.sender, one.receiver, one.messages) for one in pairs], [(0, 1, 100), (1, 0, 0)])
        first = pairs[0]
        self.assertEqual((first.phase, first.slots, first.slot_bytes, first.bytes, first.fragmented, first.refused),
                         (2, 16, 8256, 501200, 60, 3))
        self.assertEqual(first.bytes_in_phase[:3], (1000, 200, 500000))

    def test_where_the_sender_reported_nothing_the_receiver_tells(self):
        made = read([two_ranks()[1]], processes=2)
        pairs = figures.pairs_of(made)
        self.assertEqual([(one.sender, one.receiver, one.told, one.messages) for one in pairs],
                         [(0, 1, "receiver", 100), (1, 0, "sender", 0)])
        self.assertEqual(figures.silent_ranks(made), [0])

    def test_vcis_are_added_and_the_larger_ring_counts(self):
        one, other = channel(1, direction(0, 5, 0, (40, 0, 0)), direction()), \
            channel(1, direction(2, 7, 2, (0, 0, 900)), direction())
        other["vci"] = 1
        pair = figures.pairs_of(read([process(0, "a", [one, other]), process(1, "a", [])]))[0]
        self.assertEqual((pair.phase, pair.slot_bytes, pair.messages, pair.bytes, pair.enlargements),
                         (2, 8256, 12, 940, 1))
        self.assertEqual(pair.bytes_in_phase[:3], (40, 0, 900))
        self.assertEqual(pair.ring_bytes, one["registered_bytes"] + other["registered_bytes"])

    def test_phases_are_those_of_the_knob_and_those_that_were_used(self):
        made = read(two_ranks())
        self.assertEqual(figures.phases_used(made, figures.pairs_of(made)), 3)
        made["knobs"] = {**made["knobs"], "PHASES": "256"}
        self.assertEqual(figures.phases_used(made, figures.pairs_of(made)), 3)
        made["knobs"] = {**made["knobs"], "PHASES": "64,128,256,512,1024"}
        self.assertEqual(figures.phases_used(made, figures.pairs_of(made)), 5)


class Memory(unittest.TestCase):
    def test_a_node_has_the_sum_of_its_processes(self):
        made = read(job(16, 4, 3))
        nodes = figures.nodes_of(figures.processes_of(made))
        self.assertEqual([node.name for node in nodes], ["node000", "node001", "node002", "node003"])
        for number, node in enumerate(nodes):
            mine = made["reports"][4 * number:4 * number + 4]
            self.assertEqual(node.processes, 4)
            self.assertEqual(node.ring_bytes_max, sum(one["registered_bytes_max"] for one in mine))
            self.assertEqual(node.pinned, sum(one["pinned_bytes_most"] for one in mine))

    def test_the_largest_process_and_node_are_named(self):
        reports = two_ranks()
        reports[1]["registered_bytes_max"] = 5000000
        text = sections.memory(read(reports))
        self.assertIn("highest bar: rank 1 on other, 4.8 MiB", text)
        self.assertIn("highest bar: other, 4.8 MiB", text)
        self.assertIn("the most that one had is 6.7 MiB", text)

    def test_a_summary_without_host_names_is_one_node(self):
        reports = two_ranks()
        for report in reports:
            del report["host"]
        self.assertEqual([node.processes for node in figures.nodes_of(figures.processes_of(read(reports)))], [2])


class Sections(unittest.TestCase):
    def test_growth_tells_directions_reasons_and_refusals(self):
        made = read(two_ranks())
        pairs = figures.pairs_of(made)
        text = growth.growth(made, pairs, 3)
        self.assertIn("1 enlargement, 0 ways back to a smaller ring; 60 messages went in fragments", text)
        self.assertIn('<th scope="row">0 to 1</th><td class="number">2</td><td>16 of 8,256 bytes</td>', text)
        self.assertIn("1,000 + 200 + 500,000", text)
        self.assertIn("limit on pinned memory (MEMORY_MAX)</th><td class=\"number\">4</td>", text)
        self.assertIn("a ring of another phase</th><td class=\"number\">3</td>", text)

    def test_why_rings_grow_follows_the_knobs(self):
        for knobs, words in (({"GROWTH": "earned"}, "GROWTH is earned"), ({"GROWTH": "first"}, "GROWTH is first"),
                             ({"ENLARGEMENT": "off", "GROWTH": "first"}, "ENLARGEMENT is off")):
            self.assertIn(words, growth.why_it_grows(knobs))

    def test_connections_name_the_bound_its_reason_and_the_process_with_most(self):
        reports = two_ranks()
        reports[0].update(connections_max=500, connections_reason="1000 descriptors allow 500")
        made = read(reports)
        made["totals"].update(connections_closed=11, connections_reopened=12, connects_refused=13, connects_crossed=14)
        text = growth.connections(made)
        for words in ("500 (1000 descriptors allow 500)", "9 (rank 1 on other)", ">11<", ">12<", ">13<", ">14<"):
            self.assertIn(words, text)

    def test_only_knobs_that_differ_are_shown(self):
        made = read(two_ranks())
        self.assertIn("None, in rank 0", growth.knobs(made))
        made["knobs"] = {**made["knobs"], "GROWTH": "first", "SLOTS": "", "INTERFACE": "eth1"}
        self.assertEqual(figures.knobs_changed(made), [figures.Knob("GROWTH", "first", "earned"),
                                                       figures.Knob("INTERFACE", "eth1", "")])
        del made["knob_defaults"]
        self.assertIn("of an early build", growth.knobs(made))

    def test_a_summary_of_sums_shows_these_and_says_what_is_absent(self):
        text = page.make(read(job(64, 8, 5), keep_reports=False, processes=64))
        self.assertIn("This summary has no channels, so there is no matrix: the job had 64 processes", text)
        self.assertIn("Which process and which node had most is not in this summary", text)
        self.assertIn("Which directions grew is not in this summary", text)
        self.assertNotIn('id="matrix"', text)
        self.assertEqual(text.count('<svg class="bars'), 5)

    def test_missing_reports_are_named(self):
        text = page.make(read(two_ranks()[:1], processes=3))
        self.assertIn("No report arrived from 2 processes: rank 1, 2.", text)

    def test_texts_of_the_summary_are_no_markup(self):
        reports = two_ranks()
        reports[0]["host"] = "</script><b>x"
        reports[0]["arrival_reason"] = "<i>&"
        made = read(reports)
        made["rank_0"] = {**made["rank_0"], "arrival_reason": "<i>&"}
        text = page.make(made)
        self.assertNotIn("<b>x", text)
        self.assertNotIn("<i>", text)
        self.assertEqual(text.count("</script>"), 2)

    def test_a_page_needs_nothing_from_elsewhere(self):
        text = page.make(read(two_ranks()))
        for words in ("http:", "https:", "src=", "<link", "@import", "url("):
            self.assertNotIn(words, text)


class Charts(unittest.TestCase):
    def test_sizes(self):
        for count, text in ((0, "0 bytes"), (9999, "9,999 bytes"), (10240, "10.0 KiB"), (1258291, "1.2 MiB"),
                            (5 << 30, "5.0 GiB"), (2 << 40, "2.0 TiB"), (5000 << 40, "5000.0 TiB")):
            self.assertEqual(charts.size(count), text)

    def test_bars_are_as_high_as_their_values(self):
        text = charts.bars("t", [1, 4, 0], ["one", "four", "none"], ["1", "2", "3"], "h")
        self.assertIn('height="37.50"><title>one', text)
        self.assertIn('height="150.00"><title>four', text)
        self.assertIn('height="0.00"><title>none', text)
        self.assertIn("<title>t</title>", text)

    def test_a_chart_of_many_bars_has_few_labels(self):
        self.assertEqual(charts.label_places(1024, 9), [0, 128, 256, 384, 512, 639, 767, 895, 1023])
        self.assertEqual(charts.label_places(3, 9), [0, 1, 2])
