# SPDX-License-Identifier: MIT
"""What is asked: the questions of the page with their texts, the programs and fabrics by name, and the targets."""

FABRICS = {
    'tcp': 'tcp',
    'rxe': 'RoCE (rdma_rxe)',
    'siw': 'iWARP (siw)',
}

# In the order of the tables' columns and of the legends.
PROGRAMS = {
    'bufenlarge': 'bufenlarge',
    'bufenlarge-mixed': 'bufenlarge, mixed',
    'bufenlarge-polled': 'bufenlarge, polled',
    'bufenlarge-notified': 'bufenlarge, notified',
    'bufenlarge-advertised': 'bufenlarge, blocks advertised',
    'bufenlarge-packed': 'bufenlarge, blocks packed',
    'bufenlarge-rendezvous': 'bufenlarge, rendezvous',
    'bufenlarge-ring': 'bufenlarge, through the ring',
    'ofi': 'ch4:ofi',
    'fi_pingpong': 'fi_pingpong',
    'raw': 'raw provider',
    'raw-send': 'raw fi_send',
    'raw-write': 'raw fi_write',
    'perftest': 'perftest',
}

# What the knob ARRIVAL chooses by itself on each fabric; ratios are of this one.
DEFAULT = {'tcp': 'bufenlarge', 'rxe': 'bufenlarge-mixed', 'siw': 'bufenlarge-polled'}


class Question:
    """One table per fabric: the word in the raw figures, a title, and whether less or more is better."""

    def __init__(self, key, title, less_is_better=True):
        self.key = key
        self.title = title
        self.less_is_better = less_is_better


class Section:
    """Questions under one heading, the measurement that answers them, an introduction, and a picture or none."""

    def __init__(self, title, text, questions, measured='', fabrics=('tcp', 'rxe', 'siw'), picture=None):
        self.title = title
        self.text = text
        self.questions = questions
        self.measured = measured
        self.fabrics = fabrics
        self.picture = picture


TYPICAL = Question('latency_typical', 'half round trip, median of the single ones of a run')
LATENCY = Question('latency', 'half round trip, mean of a run')
BANDWIDTH = Question('bandwidth', 'bandwidth', less_is_better=False)
RATE = Question('message_rate', 'message rate', less_is_better=False)
ONESIDED = [
    Question('put_latency', 'MPI_Put and flush'),
    Question('get_latency', 'MPI_Get and flush'),
    Question('put_bandwidth', 'window of MPI_Puts, one flush', less_is_better=False),
    Question('get_bandwidth', 'window of MPI_Gets, one flush', less_is_better=False),
]
THRESHOLD = [
    Question('threshold_latency', 'half round trip'),
    Question('threshold_bandwidth', 'bandwidth', less_is_better=False),
]
MEMORY = [
    Question('private_before_init_max', 'Before MPI_Init'),
    Question('private_after_init_max', 'After MPI_Init'),
    Question('private_after_touch_max', 'After a message to and from every other rank'),
]

SECTIONS = [
    Section('Half round trip', """\
Half the time of a round trip of blocking messages, by size. On RoCE and iWARP the emulated processors lose whole
slices of time to the machine below them, so the median of the single round trips of each run comes first, and the
mean after it. fi_pingpong gives the mean only; the picture shows that.""",
            [TYPICAL, LATENCY], 'latency', picture='latency'),
    Section('Bandwidth', """\
Windows of up to 64 nonblocking messages, each window answered by 4 bytes. `ib_write_bw` (perftest) has as many messages
under way. On RoCE and iWARP a window has at most 8 MiB.""",
            [BANDWIDTH], 'window', picture='bandwidth'),
    Section('Message rate', """\
The same windows, as messages per second. On RoCE and iWARP the smallest message measured is 4 KiB, and the bandwidth
says the same there.""",
            [RATE], 'window', fabrics=('tcp',), picture='message-rate'),
    Section('One-sided communication', """\
One MPI_Put or MPI_Get and its flush, and windows of up to 64 of them and one flush, under a shared lock, while the
target waits in MPI. Of the programs compared only ch4:ofi has these operations. Over `tcp;ofi_rxm` its flush of a small
MPI_Put does not wait until the target has the data, and bufenlarge's does (`bench/away.c` shows both), so that single
small MPI_Puts are not the same work for the two.""",
            ONESIDED, 'onesided', picture='one-sided'),
    Section('Rendezvous or ring', """\
The same messages by rendezvous and through the ring, in turn, at the sizes where the rendezvous begins.""",
            THRESHOLD, fabrics=('rxe', 'siw', 'tcp')),
]


class Target:
    """The ratio to `over` (None: the figure itself) has to be at most, at least, below or above `limit`: `kind`."""

    def __init__(self, text, questions, over, kind, limit, sizes=(0, 1 << 62), scale=1):
        self.text = text
        self.questions = questions
        self.over = over
        self.kind = kind
        self.limit = limit
        self.sizes = sizes
        self.scale = scale

    def holds(self, figure):
        return {'most': figure <= self.limit, 'least': figure >= self.limit,
                'below': figure < self.limit, 'above': figure > self.limit}[self.kind]


# All on tcp: only there every program runs on processors that are not emulated.
TARGETS = [
    Target('half round trip at most 1.05 of fi_pingpong, 8 B to 4 KiB', ['latency'], 'fi_pingpong', 'most', 1.05,
           (8, 4096)),
    Target('half round trip below ch4:ofi, up to 1 MiB', ['latency'], 'ofi', 'below', 1, (0, 1 << 20)),
    Target('bandwidth at least 0.95 of raw fi_send, from 64 KiB', ['bandwidth'], 'raw-send', 'least', 0.95,
           (1 << 16, 1 << 62)),
    Target('bandwidth above ch4:ofi', ['bandwidth'], 'ofi', 'above', 1),
    Target('message rate above ch4:ofi, 8 B', ['message_rate'], 'ofi', 'above', 1, (8, 8)),
    Target('one-sided: one operation and its flush below ch4:ofi', ['put_latency', 'get_latency'], 'ofi',
           'below', 1),
    Target('one-sided: windows above ch4:ofi', ['put_bandwidth', 'get_bandwidth'], 'ofi', 'above', 1),
    Target('private memory after MPI_Init below 6 MiB', ['private_after_init_max'], None, 'below', 6,
           scale=1 / 1024),
]
