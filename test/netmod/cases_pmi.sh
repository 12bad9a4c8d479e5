# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Cases in which the process manager refuses a request of the netmod in MPI_Init, or goes away. Sourced. Bash.
# shellcheck disable=SC2154 # variables shared with run

pmi_cases() {
    echo "pmi/put-refused|pmi_fails|1|demo|put refused MPIDI_BUFENLARGE_pmi_put|20"
    echo "pmi/get-refused|pmi_fails|1|demo|get refused MPIDI_BUFENLARGE_pmi_get|20"
    echo "pmi/put-gone|pmi_fails|1|demo|put gone bufenlarge-key-0-0: gone|20"
    echo "pmi/get-gone|pmi_fails|1|demo|get gone bufenlarge-entry-0-0: gone|20"
    echo "pmi/barrier-gone|pmi_fails|1|demo|barrier_in gone barrier_in : gone|20"
}

# case_pmi_fails: ARGUMENTS is "COMMAND HOW TEXT", of failing_pmi.py. A process whose manager is gone has only to end:
# since 4.2 MPICH's PMI itself gets signal 11 then.
case_pmi_fails() {
    local command how text
    read -r command how text <<<"$4"
    run_job "$6" "$5" python3 "$here/failing_pmi.py" "$command" "$how" "$work/bin/$3"
    if [ "$how" = refused ]; then
        check_refusal "$5" "$6" "$text"
    elif [ "$job_status" = hang ]; then
        reason="no end after $5 seconds, stacks are in the log"
    elif [ "$job_status" = 0 ]; then
        reason="the job ran without its process manager"
    else
        grep -qF -- "$text" "$6.out" || reason="it ended before the process manager was gone"
    fi
}
