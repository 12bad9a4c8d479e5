// SPDX-License-Identifier: MIT
// What the C interface does itself: arguments, messages, names, statistics.
#include <catch2/catch.hpp>

#include <arpa/inet.h>

#include <cstring>
#include <string>

#include "bufenlarge.h"
#include "fabric/job.h"
#include "fabric/socket_address.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;

void ignore_fragment(void*, uint32_t, const void*, size_t, unsigned) {}
void ignore_failure(void*, uint32_t, bufenlarge_status_t, const char*) {}

bufenlarge_context_config_t config(const bufenlarge_options_t* options) {
  bufenlarge_context_config_t config{};
  config.options = options;
  config.size = 2;
  config.job_key = 7;
  config.deliver = ignore_fragment;
  config.failed = ignore_failure;
  return config;
}

TEST_CASE("every status has its name", "[c_api]") {
  CHECK(std::string(bufenlarge_status_name(BUFENLARGE_OK)) == "BUFENLARGE_OK");
  CHECK(std::string(bufenlarge_status_name(BUFENLARGE_ERR_OPTION)) == "BUFENLARGE_ERR_OPTION");
  CHECK(std::string(bufenlarge_status_name(BUFENLARGE_ERR_FABRIC)) == "BUFENLARGE_ERR_FABRIC");
  CHECK(std::string(bufenlarge_status_name(BUFENLARGE_ERR_MEMORY)) == "BUFENLARGE_ERR_MEMORY");
  CHECK(std::string(bufenlarge_status_name(BUFENLARGE_ERR_PEER)) == "BUFENLARGE_ERR_PEER");
  CHECK(std::string(bufenlarge_status_name(BUFENLARGE_ERR_PROTOCOL)) == "BUFENLARGE_ERR_PROTOCOL");
  CHECK(std::string(bufenlarge_status_name(BUFENLARGE_ERR_TIMEOUT)) == "BUFENLARGE_ERR_TIMEOUT");
  CHECK(std::string(bufenlarge_status_name(BUFENLARGE_ERR_ARGUMENT)) == "BUFENLARGE_ERR_ARGUMENT");
}

TEST_CASE("the version names the wire version", "[c_api]") {
  CHECK_THAT(bufenlarge_version(), Contains("(wire " + std::to_string(BUFENLARGE_WIRE_VERSION) + ")"));
}

TEST_CASE("knobs can be listed, and an index beyond the last has an empty name", "[c_api]") {
  CHECK(bufenlarge_knob_count() == 24);
  CHECK(std::string(bufenlarge_knob_name(0)) == "PHASES");
  CHECK(std::string(bufenlarge_knob_name(bufenlarge_knob_count())).empty());
}

TEST_CASE("a wrong knob is an option error, and its text is cut to the buffer and ends with NUL", "[c_api]") {
  const Options options(bufenlarge_options_create());
  REQUIRE(options);
  char message[BUFENLARGE_MESSAGE_BYTES];
  CHECK(bufenlarge_options_set(options.get(), "SLOTS", "0", message, sizeof message) == BUFENLARGE_ERR_OPTION);
  CHECK_THAT(message, Contains("SLOTS") && Contains("'0'") && Contains("4096"));
  CHECK(bufenlarge_options_set(options.get(), "NOSUCH", "1", message, sizeof message) == BUFENLARGE_ERR_OPTION);
  CHECK_THAT(message, Contains("NOSUCH"));
  char little[8];
  std::memset(little, 'x', sizeof little);
  CHECK(bufenlarge_options_set(options.get(), "SLOTS", "0", little, sizeof little) == BUFENLARGE_ERR_OPTION);
  CHECK(std::strlen(little) == 7);
  CHECK(bufenlarge_options_set(options.get(), "SLOTS", "0", nullptr, 0) == BUFENLARGE_ERR_OPTION);
}

TEST_CASE("a value of NULL or an empty value keeps the default", "[c_api]") {
  const Options options(bufenlarge_options_create());
  CHECK(bufenlarge_options_set(options.get(), "SLOTS", nullptr, nullptr, 0) == BUFENLARGE_OK);
  CHECK(bufenlarge_options_set(options.get(), "SLOTS", "", nullptr, 0) == BUFENLARGE_OK);
  CHECK(bufenlarge_options_check(options.get(), nullptr, 0) == BUFENLARGE_OK);
}

TEST_CASE("the agreement has a line for each item, and only the line of a knob that differs differs", "[c_api][S6]") {
  const auto agreement_of = [](const KnobTexts& knobs) {
    const Process process(knobs, 0, 2, 7);
    char text[BUFENLARGE_MESSAGE_BYTES];
    bufenlarge_context_agreement(process.context(), text, sizeof text);
    return std::string(text);
  };
  const std::string begin = "wire version " + std::to_string(BUFENLARGE_WIRE_VERSION) +
                            "\nprovider tcp\nprotocol FI_PROTO_SOCK_TCP\naddresses IPv4\nMPIR_CVAR_BUFENLARGE_PHASES=";
  CHECK(agreement_of({}) == begin + "512,8256\nMPIR_CVAR_BUFENLARGE_SLOTS=16,16");
  CHECK(agreement_of({{"PHASES", "512,8264"}}) == begin + "512,8264\nMPIR_CVAR_BUFENLARGE_SLOTS=16,16");
  CHECK(agreement_of({{"SLOTS", "16,8"}}) == begin + "512,8256\nMPIR_CVAR_BUFENLARGE_SLOTS=16,8");
  CHECK(agreement_of({{"THRESHOLD", "50%"}, {"RENDEZVOUS", "off"}, {"ACK_TIMEOUT", "2s"}}) == agreement_of({}));
}

TEST_CASE("check and open find knobs that contradict each other", "[c_api]") {
  const Options options = make_options({{"SLOTS", "1,2,3"}});
  char message[BUFENLARGE_MESSAGE_BYTES] = "";
  CHECK(bufenlarge_options_check(options.get(), message, sizeof message) == BUFENLARGE_ERR_OPTION);
  CHECK_THAT(message, Contains("SLOTS='1,2,3'"));
  bufenlarge_context_t* context = reinterpret_cast<bufenlarge_context_t*>(1);
  const auto wrong = config(options.get());
  message[0] = '\0';
  CHECK(bufenlarge_context_open(&wrong, &context, message, sizeof message) == BUFENLARGE_ERR_OPTION);
  CHECK(context == nullptr);
  CHECK_THAT(message, Contains("SLOTS='1,2,3'"));
}

TEST_CASE("a context needs a rank in range and both callbacks", "[c_api]") {
  const Options options = make_options({});
  const auto refused = [&](auto change) {
    bufenlarge_context_config_t wrong = config(options.get());
    change(wrong);
    bufenlarge_context_t* context = reinterpret_cast<bufenlarge_context_t*>(1);
    char message[BUFENLARGE_MESSAGE_BYTES] = "";
    const auto status = bufenlarge_context_open(&wrong, &context, message, sizeof message);
    CHECK(context == nullptr);
    CHECK(std::strlen(message) > 5);
    return status == BUFENLARGE_ERR_ARGUMENT;
  };
  CHECK(refused([](auto& wrong) { wrong.rank = 2; }));
  CHECK(refused([](auto& wrong) { wrong.size = 0; }));
  CHECK(refused([](auto& wrong) { wrong.deliver = nullptr; }));
  CHECK(refused([](auto& wrong) { wrong.failed = nullptr; }));
}

TEST_CASE("NULL options are the defaults", "[c_api]") {
  bufenlarge_context_t* context = nullptr;
  char message[BUFENLARGE_MESSAGE_BYTES] = "";
  const auto defaults = config(nullptr);
  const auto status = bufenlarge_context_open(&defaults, &context, message, sizeof message);
  INFO(message);
  REQUIRE(status == BUFENLARGE_OK);
  bufenlarge_context_close(context);
}

TEST_CASE("NULL may be closed and destroyed", "[c_api]") {
  bufenlarge_context_close(nullptr);
  bufenlarge_options_destroy(nullptr);
  SUCCEED("it did not crash");
}

TEST_CASE("a fabric that does not exist is a fabric error that names the knob and its value", "[c_api]") {
  for (const auto& [name, value] : {std::pair("PROVIDER", "verbs"), std::pair("INTERFACE", "nosuch0"),
                                     std::pair("ARRIVAL", "notified"), std::pair("ARRIVAL", "mixed")}) {
    const Options options = make_options({{name, value}});
    bufenlarge_context_t* context = nullptr;
    char message[BUFENLARGE_MESSAGE_BYTES] = "";
    const auto wanted = config(options.get());
    CHECK(bufenlarge_context_open(&wanted, &context, message, sizeof message) == BUFENLARGE_ERR_FABRIC);
    CHECK(context == nullptr);
    CHECK_THAT(message, Contains(name) && Contains(value));
  }
}

TEST_CASE("the number of addresses has to be the number of processes", "[c_api]") {
  Process process({}, 0, 2, 7);
  const Bytes addresses(3 * process.address.size());
  CHECK(bufenlarge_context_set_addresses(process.context(), addresses.data(), 1) == BUFENLARGE_ERR_ARGUMENT);
  CHECK(bufenlarge_context_set_addresses(process.context(), addresses.data(), 3) == BUFENLARGE_ERR_ARGUMENT);
  CHECK(bufenlarge_context_set_addresses(process.context(), addresses.data(), 2) == BUFENLARGE_OK);
}

TEST_CASE("a context's address is the one that its statistics print", "[c_api]") {
  Process process({}, 0, 2, 7);
  const bufenlarge_context_stats_t stats = process.stats();
  CHECK_THAT(stats.address, Catch::Matchers::StartsWith("127.0.0.1:"));
  CHECK(SocketAddress(process.address.data()).text() == stats.address);
}

TEST_CASE("a peer has the same channel on each call, and a peer out of range has none", "[c_api]") {
  Job job(2);
  CHECK(job[0].channel(1) != nullptr);
  CHECK(job[0].channel(1) == job[0].channel(1));
  CHECK(job[0].channel(2) == nullptr);
  CHECK(job[0].channel(UINT32_MAX) == nullptr);
  CHECK(std::string(bufenlarge_channel_error(job[0].channel(1))).empty());
}

TEST_CASE("a channel to the own process is a loopback", "[c_api][loopback]") {
  Job job(2);
  const Vector vector({100'000, 0, 7});
  CHECK(job[0].send(0, vector.all()) == 100'007);
  CHECK(job[0].last_status == BUFENLARGE_OK);
  CHECK(job[0].messages[0].empty());
  REQUIRE(job.until([&] { return job[0].messages[0].size() == 1; }));
  CHECK(job[0].messages[0][0] == vector.bytes());
  CHECK(std::string(bufenlarge_channel_error(job[0].channel(0))).empty());
}

TEST_CASE("corked messages arrive with a flush, and also without one", "[c_api][cork]") {
  Job job(2);
  job.send(0, 1, Vector({8}));
  for (const bool flushed : {true, false}) {
    const std::size_t before = job[1].messages[0].size();
    for (std::uint32_t n = 0; n < 5; ++n) CHECK(job[0].send(1, Vector({50}, n).all(), BUFENLARGE_CORK) == 50);
    if (flushed) bufenlarge_channel_flush(job[0].channel(1));
    REQUIRE(job.until([&] { return job[1].messages[0].size() == before + 5; }));
    for (std::uint32_t n = 0; n < 5; ++n) CHECK(job[1].messages[0][before + n] == pattern(50, n));
  }
  bufenlarge_channel_flush(job[0].channel(0));  // loopback: nothing to flush
}

TEST_CASE("a channel that the caller gives up fails on both sides, and only once", "[c_api][fail]") {
  Job job(3);
  for (std::uint32_t peer : {1u, 2u}) job.send(0, peer, Vector({8}));
  bufenlarge_channel_fail(job[0].channel(1), BUFENLARGE_ERR_PROTOCOL, "it sent nonsense");
  bufenlarge_channel_fail(job[0].channel(1), BUFENLARGE_ERR_PEER, "again");
  bufenlarge_channel_fail(job[0].channel(0), BUFENLARGE_ERR_PEER, "the loopback");
  REQUIRE(job[0].failures.size() == 1);
  CHECK(job[0].failures[0].status == BUFENLARGE_ERR_PROTOCOL);
  CHECK(std::string(bufenlarge_channel_error(job[0].channel(1))) == "it sent nonsense");
  REQUIRE(job.until([&] { return job[1].failures.size() == 1; }));
  CHECK(job[1].failures[0].peer == 0);
  CHECK(job[1].failures[0].status == BUFENLARGE_ERR_PEER);
  CHECK(job[0].send(1, Vector({8}).all()) == 0);
  CHECK(job[0].last_status == BUFENLARGE_ERR_PROTOCOL);
  job.send(0, 2, Vector({8}));
  CHECK(job[0].send(0, Vector({8}).all()) == 8);
}

TEST_CASE("a channel that does not exist has no statistics, and the struct stays as it was", "[c_api]") {
  Job job(2);
  bufenlarge_channel_stats_t stats;
  std::memset(&stats, 0x5a, sizeof stats);
  const bufenlarge_channel_stats_t before = stats;
  CHECK(bufenlarge_context_channel_stats(job[0].context(), 1, &stats) == 0);
  CHECK(bufenlarge_context_channel_stats(job[0].context(), 0, &stats) == 0);
  CHECK(bufenlarge_context_channel_stats(job[0].context(), 9, &stats) == 0);
  CHECK(std::memcmp(&stats, &before, sizeof stats) == 0);
}

void check_before_connection(Process& process) {
  REQUIRE(process.channel(1) != nullptr);
  const bufenlarge_channel_stats_t stats = process.stats(1);
  CHECK(stats.peer == 1);
  CHECK(stats.connected == 0);
  CHECK(stats.send.slot_bytes == 0);
  CHECK(stats.registered_bytes == 0);
  CHECK(process.stats().registrations == 0);
}

// After 100 bytes in both directions: 16 KiB of rings.
void check_first_phase(const bufenlarge_channel_stats_t& stats) {
  CHECK(stats.connected == 1);
  CHECK(stats.send.phase == 0);
  CHECK(stats.send.slot_bytes == 512);
  CHECK(stats.send.slots == 16);
  CHECK(stats.send.messages == 1);
  CHECK(stats.send.bytes == 100);
  CHECK(stats.receive.messages == 1);
  CHECK(stats.receive.bytes == 100);
  CHECK(stats.registered_bytes == 16 * 1024);
}

// After 5000 bytes more from this side: its send ring has grown.
void check_second_phase(const bufenlarge_channel_stats_t& stats) {
  CHECK(stats.send.phase == 1);
  CHECK(stats.send.slot_bytes == 8256);
  CHECK(stats.send.enlargements == 1);
  CHECK(stats.send.refused == 0);
  CHECK(stats.send.requests_repeated == 0);
  CHECK(stats.send.acks_rejected == 0);
  CHECK(stats.send.bytes == 5100);
  CHECK(stats.send.bytes_in_phase[0] == 100);
  CHECK(stats.send.bytes_in_phase[1] == 5000);
  CHECK(stats.receive.phase == 0);
  CHECK(stats.registered_bytes == (8 + 132) * 1024);
  CHECK(stats.registered_bytes_max == (8 + 8 + 132) * 1024);  // for a moment there were both rings
}

TEST_CASE("statistics before the connection, small, and large", "[c_api][E1][E10]") {
  Job job(3);
  check_before_connection(job[0]);
  job.send(0, 1, Vector({100}));
  job.send(1, 0, Vector({60, 40}));
  check_first_phase(job[0].stats(1));
  job.send(0, 1, Vector({5000}));
  check_second_phase(job[0].stats(1));
  CHECK(job[1].stats(0).receive.phase == 1);
  CHECK(job[1].stats(0).receive.enlargements == 1);
  CHECK(job[1].stats(0).send.phase == 0);
  // Expect: the context counts the same, a page of control blocks, and the ring that its slab has back
  const bufenlarge_context_stats_t all = job[0].stats();
  CHECK(all.channels == 1);
  CHECK(all.channels_failed == 0);
  CHECK(all.registered_bytes == (4 + 2 * 8 + 132) * 1024);
  CHECK(all.registrations == 3);
  CHECK(all.deregistrations == 0);
  CHECK(std::string(all.provider) == "tcp");
  CHECK(std::string(all.protocol) == "FI_PROTO_SOCK_TCP");
  CHECK(std::string(all.arrival) == "polled");
  CHECK_THAT(all.arrival_reason, Contains("in order"));
  CHECK(std::string(all.interface_name) == "lo");
}

}  // namespace
}  // namespace bufenlarge::test
