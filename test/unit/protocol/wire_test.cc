// SPDX-License-Identifier: MIT
// What docs/wire-protocol.md says, byte by byte. A change that makes one of these tests fail needs a new wire version.
#include "protocol/wire.h"

#include <catch2/catch.hpp>

#include <cstring>

#include "protocol/enlarge_receiver.h"
#include "protocol/handshake.h"
#include "protocol/slot.h"
#include "support/builders.h"

namespace bufenlarge::test {
namespace {

// Bytes as numbers, lowest address first.
template <class Thing>
std::vector<unsigned> bytes_of(const Thing& thing) {
  std::vector<unsigned> numbers;
  for (std::size_t i = 0; i < sizeof thing; ++i)
    numbers.push_back(reinterpret_cast<const unsigned char*>(&thing)[i]);
  return numbers;
}

using Numbers = std::vector<unsigned>;

TEST_CASE("Lap, which counts laps, gives the same commit words as commit_word()", "[wire]") {
  Lap lap;
  for (std::uint64_t number = 0; number < 600; ++number, lap.next())
    REQUIRE(lap.commit_word(16 * number + 3) == commit_word(16 * number + 3, number));
}

TEST_CASE("the wire version is 13", "[wire]") { CHECK(kWireVersion == 13); }

TEST_CASE("a slot ends with check, grant, bytes, kind, marks, epoch and commit word", "[wire]") {
  Bytes slot(64);
  seal_slot(slot.data(), 64, {0x0102030405060708u, 0x21, 0x31323334, 0x4142, SlotKind::kEnlargeRequest, 3, false});
  SlotTrailer trailer;
  std::memcpy(&trailer, slot.data() + 40, sizeof trailer);
  CHECK(bytes_of(trailer) == Numbers{0, 0, 0, 0, 0x34, 0x33, 0x32, 0x31, 0x21, 0, 0, 0, 2, 3, 0x42, 0x41,  //
                                     8, 7, 6, 5, 4, 3, 2, 1});
}

TEST_CASE("an enlargement request is its number and its phase", "[wire][E5]") {
  CHECK(bytes_of(EnlargeRequest{0x01020304, 2}) == Numbers{4, 3, 2, 1, 2, 0, 0, 0});
}

TEST_CASE("a message about closing is the request's number, the step and whether room is needed", "[wire]") {
  CHECK(bytes_of(CloseMessage{0x01020304, 2, 1, 0}) == Numbers{4, 3, 2, 1, 2, 1, 0, 0});
  CHECK(static_cast<unsigned>(CloseStep::kRequest) == 1);
  CHECK(static_cast<unsigned>(CloseStep::kAgree) == 2);
  CHECK(static_cast<unsigned>(CloseStep::kRefuse) == 3);
  CHECK(static_cast<unsigned>(CloseStep::kGoOn) == 4);
}

TEST_CASE("an acknowledgement has its head flag first and its tail flag last", "[wire][E8]") {
  EnlargeAck ack{};
  ack.ring_address = 0x1112131415161718u;
  ack.base = 0x21;
  ack.ring_key = 0x31323334;
  ack.slot_bytes = 8192;
  ack.slots = 16;
  ack.phase = 1;
  ack.status = static_cast<std::uint8_t>(AckStatus::kProvisioned);
  ack.epoch = 0x0405;
  ack = seal_ack(ack, 9);
  Numbers numbers = bytes_of(ack);
  const Numbers head(numbers.begin(), numbers.begin() + 48);
  const Numbers tail(numbers.begin() + 56, numbers.end());
  CHECK(head == Numbers{9, 0, 0, 0, 'D', 'A', 'E', 'H', 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,  //
                        0x21, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0x34, 0x33, 0x32, 0x31,                    //
                        0, 0x20, 0, 0, 16, 0, 0, 0, 1, 1, 5, 4, 0, 0, 0, 0});
  CHECK(tail == Numbers{9, 0, 0, 0, 'L', 'I', 'A', 'T'});
}

TEST_CASE("the control inbox has the grant at 0, the repeat word at 16 and the acknowledgement at 64", "[wire]") {
  CHECK(offsetof(ControlInbox, grant) == 0);
  CHECK(offsetof(ControlInbox, repeat) == 16);
  CHECK(offsetof(ControlInbox, ack) == 64);
  CHECK(offsetof(ControlBlock, inbox) == 0);
  CHECK(offsetof(ControlBlock, outbox) == 128);
}

TEST_CASE("a slot's marks are first 1, last 2 and notified 4, of which a message has two", "[wire]") {
  CHECK(kMarkFirst == 1);
  CHECK(kMarkLast == 2);
  CHECK(kMarkNotified == 4);
  CHECK(kMarksOfMessage == 3);
}

TEST_CASE("a hello asks for checks with flag 1 and for notifications with flag 2", "[wire]") {
  CHECK(kHelloVerifiesSlots == 1);
  CHECK(kHelloWantsNotifications == 2);
  CHECK(kCheckedBytesMax == 512);  // with both
}

// The seal is what another implementation of SipHash-2-4 makes of it.
TEST_CASE("a hello is 53 bytes that begin with BE and the version", "[wire]") {
  const Hello hello{kHelloMagic, kWireVersion, kHelloVerifiesSlots, 0x01020304, 0x1112131415161718u,
                    0x2122232425262728u, 0x3132333435363738u, 0x41424344, 0x51525354, 512, 16, 7, 0x61626364, 9};
  const HelloBytes bytes = encode_hello(hello, {1, 2});
  REQUIRE(bytes.size() == 53);
  CHECK(bytes_of(bytes) == Numbers{'B', 'E', 13, 1, 4, 3, 2, 1, 0x27, 0x9a, 0xd2, 0x9b, 0xa0, 0x10, 0x56, 0x35,  //
                                   0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,                              //
                                   0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31,                              //
                                   0x44, 0x43, 0x42, 0x41, 0x54, 0x53, 0x52, 0x51,                              //
                                   0, 2, 0, 0, 16, 0, 7, 0, 0x64, 0x63, 0x62, 0x61, 9});
}

TEST_CASE("a reject is 16 bytes that begin with BE, the version and the reason", "[wire]") {
  const Reject reject = make_reject(RejectReason::kGeometry, {1, 4, 512, 16, 0x61626364}, 7);
  CHECK(bytes_of(reject) == Numbers{'B', 'E', 13, 3, 0, 2, 0, 0, 16, 0, 7, 0, 0x64, 0x63, 0x62, 0x61});
}

}  // namespace
}  // namespace bufenlarge::test
