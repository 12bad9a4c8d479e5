// SPDX-License-Identifier: MIT
#include "info_draw.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>

#include "info_error.h"
#include "memory_log.h"

namespace bufenlarge {

namespace {

struct Line {
  std::uint64_t time_us = 0;
  std::size_t series = 0;  // of a context
  MemorySample sample;
};

// The sum of all contexts from a time on.
struct Point {
  std::uint64_t time_us = 0;
  MemorySample sum;
};

[[noreturn]] void refuse(const std::string& why) { throw InfoError("--draw-memory: " + why); }

// ---- reading

void read_file(const std::string& name, std::vector<Line>& lines, std::size_t& series_count) {
  std::ifstream file(name);
  if (!file) refuse(name + " cannot be read");
  std::map<unsigned, std::size_t> series;
  std::string text;
  for (std::size_t number = 1; std::getline(file, text); ++number) {
    if (text == MemoryLog::kHeader) continue;
    Line line;
    unsigned context = 0;
    int end = 0;
    MemorySample& sample = line.sample;
    const int fields = std::sscanf(text.c_str(), "%" SCNu64 ",%u,%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64
                                   ",%" SCNu64 "%n",
                                   &line.time_us, &context, &sample.ring_bytes, &sample.user_bytes,
                                   &sample.connections, &sample.enlargements, &sample.shrinks, &end);
    if (fields != 7 || static_cast<std::size_t>(end) != text.size())
      refuse(name + ", line " + std::to_string(number) + ": expected seven numbers, " + MemoryLog::kHeader);
    const auto [found, is_new] = series.try_emplace(context, series_count);
    series_count += is_new;
    line.series = found->second;
    lines.push_back(line);
  }
}

std::vector<Point> sum_up(std::vector<Line>& lines, std::size_t series_count) {
  std::ranges::stable_sort(lines, {}, &Line::time_us);
  std::vector<MemorySample> now(series_count);
  std::vector<Point> points;
  Point at;
  for (const Line& line : lines) {
    MemorySample& before = now[line.series];
    const auto change = [&](std::uint64_t MemorySample::*field) {
      at.sum.*field += line.sample.*field - before.*field;
    };
    change(&MemorySample::ring_bytes);
    change(&MemorySample::user_bytes);
    change(&MemorySample::connections);
    change(&MemorySample::enlargements);
    change(&MemorySample::shrinks);
    before = line.sample;
    at.time_us = line.time_us;
    points.push_back(at);
  }
  return points;
}

// ---- drawing

constexpr double kLeft = 80, kWidth = 800, kTop = 40, kHeight = 260, kBelow = 350, kBars = 50;
constexpr std::size_t kBins = 100;

class Picture {
 public:
  Picture(const std::vector<Point>& points, std::size_t series_count)
      : points_(points),
        begin_us_(points.front().time_us),
        span_us_(std::max<std::uint64_t>(points.back().time_us - begin_us_, 1)) {
    for (const Point& point : points)
      most_ = std::max({most_, point.sum.ring_bytes, point.sum.user_bytes});
    frame(series_count);
    steps(&MemorySample::ring_bytes, "#1f5fa8");
    steps(&MemorySample::user_bytes, "#b5651d");
    bars();
    std::printf("</svg>\n");
  }

 private:
  [[nodiscard]] double x(std::uint64_t time_us) const {
    return kLeft + kWidth * static_cast<double>(time_us - begin_us_) / static_cast<double>(span_us_);
  }
  [[nodiscard]] double y(std::uint64_t bytes) const {
    return kTop + kHeight * (1 - static_cast<double>(bytes) / static_cast<double>(most_));
  }

  void frame(std::size_t series_count) const;
  void steps(std::uint64_t MemorySample::*field, const char* colour) const;
  void bars() const;

  const std::vector<Point>& points_;
  std::uint64_t begin_us_;
  std::uint64_t span_us_;
  std::uint64_t most_ = 1;
};

void text(double x, double y, const char* anchor, const std::string& what, const char* colour = "#333") {
  std::printf("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"%s\" fill=\"%s\">%s</text>\n", x, y, anchor, colour,
              what.c_str());
}

std::string decimal(double value, const char* unit) {
  char made[48];
  std::snprintf(made, sizeof made, "%.3g %s", value, unit);
  return made;
}

void Picture::frame(std::size_t series_count) const {
  std::printf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 920 440\" font-family=\"sans-serif\" "
              "font-size=\"12\">\n<rect width=\"920\" height=\"440\" fill=\"#fff\"/>\n");
  text(kLeft, 20, "start", "Registered memory of " + std::to_string(series_count) + " contexts together");
  text(kLeft + kWidth, 20, "end", "user memory", "#b5651d");
  text(kLeft + kWidth - 90, 20, "end", "rings and control blocks", "#1f5fa8");
  for (int tick = 0; tick <= 4; ++tick) {
    const double part = tick / 4.0;
    const double at = kTop + kHeight * (1 - part);
    std::printf("<line x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", kLeft, kLeft + kWidth, at,
                at);
    text(kLeft - 6, at + 4, "end", decimal(part * static_cast<double>(most_) / (1 << 20), "MiB"));
    text(kLeft + kWidth * part, 425, "middle", decimal(part * static_cast<double>(span_us_) / 1e6, "s"));
  }
}

void Picture::steps(std::uint64_t MemorySample::*field, const char* colour) const {
  std::printf("<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" d=\"M%.1f %.1f", colour,
              x(points_.front().time_us), y(points_.front().sum.*field));
  for (const Point& point : points_) std::printf("H%.1fV%.1f", x(point.time_us), y(point.sum.*field));
  std::printf("\"/>\n");
}

// How many directions grew, above the line, and how many went back, below it.
void Picture::bars() const {
  std::array<std::uint64_t, kBins> up{}, down{};
  MemorySample before;
  for (const Point& point : points_) {
    const std::size_t bin = std::min<std::size_t>((point.time_us - begin_us_) * kBins / span_us_, kBins - 1);
    up[bin] += point.sum.enlargements - before.enlargements;
    down[bin] += point.sum.shrinks - before.shrinks;
    before = point.sum;
  }
  const std::uint64_t most =
      std::max({*std::ranges::max_element(up), *std::ranges::max_element(down), std::uint64_t{1}});
  const auto bar = [most](std::size_t bin, std::uint64_t count, bool above, const char* colour) {
    if (count == 0) return;
    const double height = kBars * static_cast<double>(count) / static_cast<double>(most);
    std::printf("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n",
                kLeft + kWidth * static_cast<double>(bin) / kBins, above ? kBelow - height : kBelow,
                kWidth / kBins - 1, height, colour);
  };
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    bar(bin, up[bin], true, "#2e7d32");
    bar(bin, down[bin], false, "#8e24aa");
  }
  text(kLeft - 6, kBelow - 8, "end", std::to_string(before.enlargements) + " grew", "#2e7d32");
  text(kLeft - 6, kBelow + 18, "end", std::to_string(before.shrinks) + " back", "#8e24aa");
}

}  // namespace

void draw_memory(const std::vector<std::string_view>& files) {
  std::vector<Line> lines;
  std::size_t series_count = 0;
  for (const std::string_view name : files) read_file(std::string(name), lines, series_count);
  if (lines.empty()) refuse("there is no line with a sample in " + std::string(files[0]));
  const std::vector<Point> points = sum_up(lines, series_count);
  const Picture picture(points, series_count);
}

}  // namespace bufenlarge
