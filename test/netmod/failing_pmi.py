# SPDX-License-Identifier: MIT
"""failing_pmi.py COMMAND HOW PROGRAM...: runs a program as rank 0 of 2 with a process manager that fails.

It speaks PMI-1 (the wire protocol of MPICH's simple PMI) over PMI_FD. The other rank does not exist. COMMAND is put or
get, of the netmod's own keys, or barrier_in; HOW is refused or gone. The program's status is the one of this command.
"""

import os
import socket
import subprocess
import sys

REFUSALS = {
    "put": "cmd=put_result rc=-1 msg=no_room",
    "get": "cmd=get_result rc=-1 msg=no_such_key",
}
REPLIES = {
    "init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
    "get_maxes": "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024",
    "get_appnum": "cmd=appnum appnum=0",
    "get_my_kvsname": "cmd=my_kvsname kvsname=job",
    "get_universe_size": "cmd=universe_size size=2",
    "put": "cmd=put_result rc=0 msg=success",
    "barrier_in": "cmd=barrier_out rc=0",
    "finalize": "cmd=finalize_ack rc=0",
}


def value_of(values, key):
    """The reply to a get: each rank is on a node of its own."""
    if key == "PMI_process_mapping":
        return "cmd=get_result rc=0 msg=success value=(vector,(0,2,1))"
    if key in values:
        return "cmd=get_result rc=0 msg=success value=" + values[key]
    return "cmd=get_result rc=-1 msg=no_such_key"


def serve(stream, failing, how):
    """Replies until the program closes its end, or the manager is gone. Returns whether the program aborts."""
    values = {}
    for line in stream:
        words = dict(word.split("=", 1) for word in line.decode(errors="replace").split() if "=" in word)
        command, key = words.get("cmd"), words.get("key", "")
        own = command == "barrier_in" or key.startswith("bufenlarge")
        if command == "abort":
            return True
        if command == failing and own:
            print(f"{command} {key}: {how}", flush=True)
            if how == "gone":
                return False
            reply = REFUSALS[command]
        elif command == "put":
            values[key] = words["value"]
            reply = REPLIES["put"]
        elif command == "get":
            reply = value_of(values, key)
        else:
            reply = REPLIES[command]
        stream.write(reply.encode() + b"\n")
    return False


def main():
    """Ends with the program's status: 128 and the signal's number for one that a signal has ended."""
    failing, how, program = sys.argv[1], sys.argv[2], sys.argv[3:]
    own, others = socket.socketpair()
    environment = dict(os.environ, PMI_FD=str(others.fileno()), PMI_RANK="0", PMI_SIZE="2")
    with subprocess.Popen(program, env=environment, pass_fds=[others.fileno()]) as process:
        others.close()
        with own.makefile("rwb", buffering=0) as stream:
            if serve(stream, failing, how):
                process.kill()  # as managers do
        own.close()
        status = process.wait()
    sys.exit(status if status >= 0 else 128 - status)


main()
