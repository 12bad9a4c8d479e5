# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Cases of callers that may not connect, and of such that may and claim to be others. Sourced. Bash.

unauthorized_cases() {
    echo "unauthorized/tcp|unauthorized|4|p2p_random|unauthorized default|120"
    echo "unauthorized/fabric|unauthorized|4|p2p_random|unauthorized_fabric default|120"
    echo "unauthorized/fabric-one-slot|unauthorized|4|p2p_random|unauthorized_fabric one-slot|120"
    echo "impostor-message/default/2|program|2|impostor|threads=1|60"
    echo "impostor-revoke/default/2|program|2|impostor|threads=2|60"
    echo "impostor-partitioned/default/2|program|2|impostor|threads=3|60"
}
