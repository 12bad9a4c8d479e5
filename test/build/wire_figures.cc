// SPDX-License-Identifier: MIT
// Prints the sizes of what crosses the wire, for figures.py: "key value" lines.
#include <cstdio>

#include "channel/port.h"
#include "protocol/wire.h"

int main() {
  using namespace bufenlarge;
  const struct {
    const char* key;
    unsigned long long value;
  } figures[] = {
      {"wire-version", kWireVersion},
      {"slot-trailer", sizeof(SlotTrailer)},
      {"checked-payload", kCheckedBytesMax},
      {"acknowledgement", sizeof(EnlargeAck)},
      {"grant-word", sizeof(GrantWord)},
      {"repeat-word", sizeof(RepeatWord)},
      {"control-block", sizeof(ControlBlock)},
      {"control-inbox", sizeof(ControlInbox)},
      {"hello", kHelloBytes},
      {"inline", kInlineBytes},
  };
  for (const auto& figure : figures) std::printf("%s %llu\n", figure.key, figure.value);
}
