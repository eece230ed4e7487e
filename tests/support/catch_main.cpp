// main() of the test binaries, for Catch2 v2 and v3.
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#include <catch2/catch_test_case_info.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#define TRAINX_CATCH_V3
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif
#include <cstdio>
#include "support/test_results.hpp"

namespace {

#ifdef TRAINX_CATCH_V3
using ListenerBase = Catch::EventListenerBase;
#else
using ListenerBase = Catch::TestEventListenerBase;
#endif

class ResultListener : public ListenerBase {
 public:
  using ListenerBase::ListenerBase;
  void testCaseStarting(const Catch::TestCaseInfo& test) override {
    ListenerBase::testCaseStarting(test);
    trainx::TestResults::of_process().begin(test.name);
  }
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    const Catch::Counts& assertions = stats.totals.assertions;
    trainx::TestResults::of_process().end(assertions.allOk(), assertions.total() > 0);
    ListenerBase::testCaseEnded(stats);
  }
};

CATCH_REGISTER_LISTENER(ResultListener)

}  // namespace

int main(int argc, char** argv) {
  const int of_catch = Catch::Session().run(argc, argv);
  const auto& results = trainx::TestResults::of_process();
  if (!results.is_empty()) {
    std::puts(results.closing_line().c_str());
    std::fflush(stdout);
  }
  return results.exit_code(of_catch);
}
