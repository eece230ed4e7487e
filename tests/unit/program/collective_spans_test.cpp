#include "program/collective_spans.hpp"
#include "support/catch.hpp"

namespace collective_spans_test {

using trainx::program::CollectiveSpans;

namespace {

#if __has_include(<catch2/catch_test_macros.hpp>)
using approx = Catch::Approx;
#else
using approx = Catch::Detail::Approx;
#endif

}  // namespace

TEST_CASE("a computation loses its share beside collectives, and nothing between them") {
  CollectiveSpans spans;
  CHECK(spans.end_of(0, 3) == approx(3));
  spans.add(10, 12, 0.5);
  spans.add(14, 20, 0.5);
  spans.add(20, 20, 0.5);                      // takes no time
  CHECK(spans.end_of(3, 7) == approx(10));     // ends as the first begins
  CHECK(spans.end_of(9, 2) == approx(12));     // 1 before it, 1 of work in its 2
  CHECK(spans.end_of(11, 4) == approx(17));    // half of 1, then 2 between, then 1.5 of work in 3
  CHECK(spans.end_of(18, 1) == approx(20));    // all of it beside the second
  CHECK(spans.end_of(19, 5) == approx(24.5));  // 0.5 of work in 1, the rest behind it
  CHECK(spans.end_of(30, 0) == approx(30));
}

TEST_CASE("collectives that cost nothing change nothing") {
  CollectiveSpans spans;
  spans.add(1, 5, 0);
  CHECK(spans.end_of(0, 4) == approx(4));
  CHECK(spans.end_of(4, 4) == approx(8));
}

}  // namespace collective_spans_test
