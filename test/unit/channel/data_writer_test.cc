// SPDX-License-Identifier: MIT
#include "channel/data_writer.h"

#include <catch2/catch.hpp>

#include "channel/data_writer.cc"  // its templates of what a completion calls
#include "support/part_fixture.h"

namespace bufenlarge::test {
namespace {

using Ends = std::vector<const Source<FakePort>*>;  // nullptr: an own write

struct DataFixture : PartFixture {
  DataFixture() : data(link) {
    open();
    data_written = [this] {
      data.on_written([this](SourceRef<FakePort> use) { ended.push_back(use ? &use.end() : nullptr); });
    };
  }
  ~DataFixture() { link.close(); }

  [[nodiscard]] DataWriter<FakePort>::Write write(std::size_t bytes = 100, WriteUse use = WriteUse::kData) const {
    return {region, region.data(), bytes, peer.ring().address, peer.ring().key, use};
  }
  // Posts a part of a response or, without a source, of an own write; it comes to this.
  WriteResult post(WriteResult result, Source<FakePort>* source = nullptr, std::size_t bytes = 100) {
    answer(result);
    const WriteUse use = result == WriteResult::kHeld ? WriteUse::kMoreData : WriteUse::kData;
    const WriteResult came = source != nullptr ? data.post(write(bytes, use), *source) : data.post(write(bytes, use));
    CHECK(came == result);
    return came;
  }
  Ends take() { return std::exchange(ended, {}); }

  FakePort::Region region = port.allocate(8192);
  DataWriter<FakePort> data;
  Ends ended;
};

TEST_CASE("a source is in use from the post of a write to its completion", "[data]") {
  DataFixture fixture;
  Source<FakePort> source;
  fixture.post(WriteResult::kPosted, &source);
  CHECK(source.uses == 1);
  CHECK(source.writes == 1);
  CHECK_FALSE(fixture.data.empty());
  CHECK(fixture.ended.empty());
  fixture.poll();
  CHECK(fixture.take() == Ends{&source});
  CHECK(source.uses == 0);
  CHECK(source.writes == 0);
  CHECK(fixture.data.empty());
}

TEST_CASE("the source counts one write less already when its completion is told", "[data]") {
  DataFixture fixture;
  Source<FakePort> source;
  fixture.post(WriteResult::kPosted, &source);
  unsigned told = 0;
  fixture.data_written = [&] {
    fixture.data.on_written([&](SourceRef<FakePort> use) {
      CHECK(use->writes == 0);
      CHECK(use->uses == 1);
      ++told;
    });
  };
  fixture.poll();
  CHECK(told == 1);
  CHECK(source.uses == 0);
}

TEST_CASE("what was copied or not taken uses no source and has no completion", "[data]") {
  for (const WriteResult result : {WriteResult::kCopied, WriteResult::kAgain, WriteResult::kFailed}) {
    DataFixture fixture;
    Source<FakePort> source;
    fixture.post(result, &source);
    fixture.post(result);
    CHECK(source.uses == 0);
    CHECK(source.writes == 0);
    CHECK(fixture.data.empty());
    CHECK(fixture.link.lost() == (result == WriteResult::kFailed));
  }
}

TEST_CASE("completions are for the writes in the order of posting", "[data]") {
  DataFixture fixture;
  fixture.port.completes = false;
  Source<FakePort> first, second;
  fixture.post(WriteResult::kPosted, &first);
  fixture.post(WriteResult::kPosted);
  fixture.post(WriteResult::kPosted, &second);
  fixture.post(WriteResult::kPosted, &first);
  CHECK(first.uses == 2);
  fixture.port.complete(2);
  fixture.poll();
  CHECK(fixture.take() == Ends{&first, nullptr});
  CHECK(first.writes == 1);
  fixture.port.complete(2);
  fixture.poll();
  CHECK(fixture.take() == Ends{&second, &first});
}

TEST_CASE("one completion is for the held writes before it, too, and for none behind it", "[data]") {
  DataFixture fixture;
  fixture.port.completes = false;
  Source<FakePort> source;
  fixture.post(WriteResult::kHeld, &source);
  fixture.post(WriteResult::kHeld);
  fixture.post(WriteResult::kPosted, &source);
  fixture.post(WriteResult::kHeld);
  fixture.post(WriteResult::kPosted);
  CHECK(source.writes == 2);
  fixture.port.complete(1);
  fixture.poll();
  CHECK(fixture.take() == Ends{&source, nullptr, &source});
  CHECK(source.writes == 0);
  CHECK_FALSE(fixture.data.empty());
  fixture.port.complete(1);
  fixture.poll();
  CHECK(fixture.take() == Ends{nullptr, nullptr});
  CHECK(fixture.data.empty());
}

TEST_CASE("no more than a few writes are under way, but one that covers held ones may always go", "[data]") {
  DataFixture fixture;
  fixture.port.completes = false;
  for (std::size_t n = 0; n < kDataWritesMax; ++n) {
    CHECK_FALSE(fixture.data.full());
    fixture.post(WriteResult::kHeld);
    CHECK_FALSE(fixture.data.full());
    fixture.post(WriteResult::kPosted);
  }
  CHECK(fixture.data.full());
  fixture.port.complete(1);
  fixture.poll();
  CHECK_FALSE(fixture.data.full());
  fixture.post(WriteResult::kPosted);
  CHECK(fixture.data.full());
  fixture.post(WriteResult::kHeld);
  CHECK_FALSE(fixture.data.full());  // or the port would wait for ever
}

TEST_CASE("a write may be held while what is held stays small, and only if another follows", "[data]") {
  constexpr std::uint32_t kHalf = kDataWriteBytesMax / 2;
  DataFixture fixture;
  CHECK(fixture.data.use_of(100, false) == WriteUse::kData);
  CHECK(fixture.data.use_of(kHalf, true) == WriteUse::kMoreData);
  CHECK(fixture.data.use_of(kHalf + 1, true) == WriteUse::kData);
  fixture.post(WriteResult::kHeld, nullptr, 1000);
  fixture.post(WriteResult::kHeld, nullptr, 1000);
  CHECK(fixture.data.use_of(kHalf - 2000, true) == WriteUse::kMoreData);
  CHECK(fixture.data.use_of(kHalf - 1999, true) == WriteUse::kData);
  fixture.post(WriteResult::kPosted);
  CHECK(fixture.data.use_of(kHalf, true) == WriteUse::kMoreData);
  fixture.poll();
}

TEST_CASE("after the endpoint is closed all writes are forgotten, and each source's use ends once", "[data][loss]") {
  DataFixture fixture;
  fixture.port.completes = false;
  Source<FakePort> first, second;
  for (std::size_t n = 1; n < kDataWritesMax; ++n) fixture.post(WriteResult::kPosted, &first);
  fixture.post(WriteResult::kPosted);
  fixture.post(WriteResult::kHeld, &second);
  fixture.link.close();
  Ends ends;
  fixture.data.forget([&](SourceRef<FakePort> use) {
    CHECK(use->writes < use->uses);
    ends.push_back(&use.end());
  });
  CHECK(ends == Ends{&first, &first, &first, &second});
  CHECK(first.uses + first.writes + second.uses + second.writes == 0);
  CHECK(fixture.data.empty());
  CHECK_FALSE(fixture.data.full());
  CHECK(fixture.data.use_of(kDataWriteBytesMax / 2, true) == WriteUse::kMoreData);
  fixture.data.forget([](SourceRef<FakePort>) { FAIL("a use ended twice"); });
  fixture.port.completes = true;
  fixture.poll();
  CHECK(fixture.ended.empty());
}

}  // namespace
}  // namespace bufenlarge::test
