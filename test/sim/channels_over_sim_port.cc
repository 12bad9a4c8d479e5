// SPDX-License-Identifier: MIT
// The channels of the simulator.
#include "channel/bodies.h"
#include "sim/sim_port.h"

namespace bufenlarge {

BUFENLARGE_INSTANTIATE_CHANNELS(sim::SimPort);

}  // namespace bufenlarge
