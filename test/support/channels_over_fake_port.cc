// SPDX-License-Identifier: MIT
// The channels of the unit tests.
#include "channel/bodies.h"
#include "support/fake_port.h"

namespace bufenlarge {

BUFENLARGE_INSTANTIATE_CHANNELS(test::FakePort);

}  // namespace bufenlarge
