#include "program/memory.hpp"
#include "core/error.hpp"
#include "support/toy/programs.hpp"
#include "support/catch.hpp"

namespace memory_test {

using namespace toy;

namespace {

std::vector<std::pair<int, int>> intervals_of(const StepProgram& p, const std::string& name) {
  std::vector<std::pair<int, int>> out;
  const auto lives = lifetimes(p);
  for (std::size_t b = 0; b < lives.size(); ++b)
    if (p.buffers[b].name == name)
      for (const Interval& i : lives[b]) out.emplace_back(i.first, i.last);
  return out;
}

using Intervals = std::vector<std::pair<int, int>>;

/// Bytes alive where most are.
Bytes lower_bound(const StepProgram& p) {
  Bytes sum = 0;
  for (const Bytes b : peak_use(p).by_role) sum += b;
  return sum;
}

}  // namespace

TEST_CASE("lifetimes: from the write to the last read; around the end of steady; forever") {
  const ModelGraph graph = chain(1, true);
  const StepProgram p = plain_program(graph, momentum());
  CHECK(intervals_of(p, "h0") == Intervals{{1, 2}});
  CHECK(intervals_of(p, "b1.u") == Intervals{{2, 4}});
  CHECK(intervals_of(p, "target") == Intervals{{0, 3}});
  CHECK(intervals_of(p, "g.tied") == Intervals{{3, 8}});
  // scratch: only inside its instruction
  CHECK(intervals_of(p, "head.work") == Intervals{{3, 3}});
  CHECK(intervals_of(p, "w.tied") == Intervals{{0, static_cast<int>(p.steady.size()) - 1}});

  // on the host: from the copy to the update
  const StepProgram c = examples()[2].roles().programs[0];
  CHECK(intervals_of(c, "g.tied'") == Intervals{{7, 13}});
  CHECK(intervals_of(c, "h1") == Intervals{{2, 3}});
}

TEST_CASE("what the next round reads is alive around the end of steady") {
  StepProgram p;
  const BufferId b = add_buffer(p, {.name = "b", .role = Role::value, .elements = 2});
  auto copy = [&](How how) {
    return Instruction{Op::copy, none, none, Lane::compute, {Use{b, how}}};
  };
  p.once = {copy(How::overwrite), {Op::report}};
  p.steady = {{Op::report}, copy(How::read), {Op::report}, copy(How::overwrite), {Op::report}};
  CHECK(intervals_of(p, "b") == Intervals{{0, 3}, {5, 6}});
  // made once: alive through steady, which does not write it
  p.steady[3] = {Op::report};
  CHECK(intervals_of(p, "b") == Intervals{{0, 6}});
}

TEST_CASE(
    "placement: residents at the bottom, nothing alive together shares bytes, peak near the "
    "bound") {
  for (const Example& e : examples())
    for (const StepProgram& p : e.roles().programs) {
      INFO("program (" << e.name << ")");
      const Placement at = plan_memory(p, {.alignment = 16, .overlap = 0});
      Bytes residents = 0, others = -1;
      for (std::size_t b = 0; b < p.buffers.size(); ++b) {
        CHECK(at.base[b] % 16 == 0);
        if (p.buffers[b].space != Space::device) continue;
        if (p.buffers[b].resident)
          residents = std::max(residents, at.base[b] + p.buffers[b].bytes());
        else
          others = others < 0 ? at.base[b] : std::min(others, at.base[b]);
      }
      if (others >= 0) CHECK(others >= residents);
      const auto lives = lifetimes(p);
      for (std::size_t a = 0; a < lives.size(); ++a)
        for (std::size_t b = 0; b < a; ++b) {
          if (p.buffers[a].space != p.buffers[b].space) continue;
          bool together = false;
          for (const Interval& x : lives[a])
            for (const Interval& y : lives[b]) together |= x.first <= y.last && y.first <= x.last;
          const bool overlap = at.base[a] < at.base[b] + p.buffers[b].bytes() &&
                               at.base[b] < at.base[a] + p.buffers[a].bytes();
          CHECK_FALSE((together && overlap));
        }
    }
}

TEST_CASE("a long chain comes within a tenth of the largest sum of live bytes") {
  const ModelGraph graph = chain(20, true);
  const StepProgram p = plain_program(graph, momentum());
  const auto peak = plan_memory(p, {.alignment = 4, .overlap = 0}).peak_of(Space::device);
  CHECK(peak >= lower_bound(p));
  CHECK(static_cast<double>(peak) <= 1.1 * static_cast<double>(lower_bound(p)));
}

TEST_CASE("bytes that another lane touched are kept for one more compute instruction") {
  StepProgram p;
  auto value = [&](const char* name) {
    return add_buffer(p, {.name = name, .role = Role::value, .elements = 16});
  };
  const BufferId a = value("a"), b = value("b"), c = value("c");
  auto step = [&](Lane lane, std::vector<Use> uses) {
    p.steady.push_back({Op::copy, none, none, lane, std::move(uses)});
  };
  step(Lane::copy_in, {Use{a, How::overwrite}});
  step(Lane::copy_out, {Use{a, How::read}});
  step(Lane::compute, {Use{b, How::overwrite}});
  step(Lane::compute, {Use{b, How::read}, Use{c, How::overwrite}});
  step(Lane::compute, {Use{c, How::read}});
  const Placement tight = plan_memory(p, {.alignment = 64, .overlap = 0}),
                  roomy = plan_memory(p, {.alignment = 64, .overlap = 1});
  CHECK(tight.base[0] == tight.base[1]);
  CHECK(roomy.base[0] != roomy.base[1]);
  CHECK(roomy.peak_of(Space::device) == tight.peak_of(Space::device));
}

TEST_CASE("fixed offsets are kept") {
  const ModelGraph graph = chain(1, true);
  const StepProgram p = plain_program(graph, momentum());
  PlacementOptions options{.alignment = 64, .overlap = 1, .fixed = {1024, 0}};
  const Placement at = plan_memory(p, options);
  CHECK(at.base[0] == 1024);
  CHECK(at.base[1] == 0);
  CHECK(check_program(p, at) == "");
  options.fixed.assign(p.buffers.size() + 1, 0);
  CHECK_THROWS_AS(plan_memory(p, options), InternalError);
}

TEST_CASE("residents in pages of their own share none with any other buffer") {
  const ModelGraph graph = chain(2, true);
  const StepProgram p = plain_program(graph, momentum());
  for (std::size_t chosen = 0; p.buffers[chosen].resident; ++chosen) {
    CAPTURE(p.buffers[chosen].name);
    PlacementOptions options;
    options.in_own_pages.resize(p.buffers.size());
    options.in_own_pages[chosen] = true;
    const Placement at = plan_memory(p, options);
    CHECK(check_program(p, at) == "");
    const Bytes begin = at.base[chosen], end = begin + p.buffers[chosen].bytes();
    CHECK(begin % page_bytes == 0);
    for (std::size_t b = 0; b < p.buffers.size(); ++b) {
      if (b == chosen) continue;
      const Bytes first = at.base[b] / page_bytes,
                  last = (at.base[b] + p.buffers[b].bytes() - 1) / page_bytes;
      const bool is_apart = last < begin / page_bytes || first > (end - 1) / page_bytes;
      CHECK(is_apart);
    }
    CHECK(at.peak_of(Space::device) >= (end + page_bytes - 1) / page_bytes * page_bytes);
    // another program keeps the same places
    options.fixed.assign(at.base.begin(),
                         at.base.begin() + static_cast<std::ptrdiff_t>(chosen) + 1);
    CHECK(plan_memory(p, options).base == at.base);
  }
}

}  // namespace memory_test
