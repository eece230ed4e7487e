#include "metrics/console.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include <nlohmann/json.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <sstream>

namespace console_test {

namespace {

using namespace trainx::metrics;

struct Recorded {
  std::string out, err;
  int columns = 80;
  double now = 0;
  Screen screen(bool live) {
    return {[this](std::string_view s) { out += s; }, [this](std::string_view s) { err += s; },
            live, [this] { return columns; }, [this] { return now; }};
  }
};

StepReport report_of(std::int64_t step) {
  StepReport r;
  r.step = step;
  r.loss = 3.5;
  r.lr = 6e-4;
  r.tokens_per_second = 12345;
  r.step_time_ms = 1000;
  r.peak_memory_bytes = std::int64_t{1} << 29;
  r.device_memory_bytes = std::int64_t{3} << 29;  // the process, which the plan is compared with
  return r;
}

// What a terminal shows after these bytes: carriage return goes to the line's start, ESC [K clears
// the rest of it.
std::vector<std::string> shown(const std::string& bytes) {
  std::vector<std::string> lines(1);
  std::size_t column = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == '\n')
      lines.emplace_back(), column = 0;
    else if (bytes[i] == '\r')
      column = 0;
    else if (bytes.compare(i, 3, "\033[K") == 0)
      lines.back().resize(column), i += 2;
    else {
      if (lines.back().size() <= column) lines.back().resize(column + 1, ' ');
      lines.back()[column++] = bytes[i];
    }
  }
  return lines;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("without a terminal only logged steps are printed, a plain line each") {
  Recorded r;
  {
    Console console({}, r.screen(false));
    console.start("training", "outputs/x", {{"memory", "little"}},
                  {{"run.seed", "7", "r.yaml:1:2"}}, Goal{100, 0, 0, std::int64_t{1} << 31});
    console.step(report_of(1), false);
    console.step(report_of(10), true);
  }
  CHECK(r.err ==
        "training\n  memory    little\n  set       run.seed=7\n"
        "step  10/100 | loss 3.5000 | lr 6.00e-04 | 12.3k tokens/s | 1.5 GiB of 2.0 GiB planned | "
        "1 min 30 s left\n");
  CHECK(r.out.empty());
}

TEST_CASE("on a terminal one line rewrites itself and messages stand above it") {
  Recorded r;
  {
    Console console({}, r.screen(true));
    console.step(report_of(1), true);
    r.now = 1;
    console.step(report_of(2), false);
    console.checkpoint({2, "outputs/x/checkpoint-2", 0.5, 0.5});
    console.warning("careful");
    r.now = 1.01;
    console.step(report_of(3), false);  // too soon to redraw
  }
  const auto lines = shown(r.err);
  REQUIRE(lines.size() == 5);
  CHECK(lines[0].starts_with("step 1 | loss 3.5"));  // logged: it stays
  CHECK(lines[1] == "step 2: saved outputs/x/checkpoint-2");
  CHECK(lines[2] == "warning: careful");
  // the end brings the last step onto the screen
  CHECK(lines[3].starts_with("step 3 | loss 3.5"));
  CHECK(lines[4].empty());
}

TEST_CASE("an error ends the live line and stands below it") {
  Recorded r;
  {
    Console console({}, r.screen(true));
    console.step(report_of(7), false);
    console.error(74, "disk gone");
  }
  const auto lines = shown(r.err);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].starts_with("step 7"));
  CHECK(lines[1] == "trainx: disk gone");
}

TEST_CASE("an error's problems stand above it, and beside it in JSON") {
  Recorded plain, json;
  ConsoleOptions events;
  events.json = true;
  const std::vector<trainx::Problem> problems = {{"x.yaml", 1, 2, "k", "a"},
                                                 {.file = "command line", .message = "b"}};
  Console({}, plain.screen(false)).error(78, "two problems", problems);
  Console(events, json.screen(false)).error(78, "two problems", problems);
  CHECK(plain.err == "x.yaml:1:2: k: a\ncommand line: b\ntrainx: two problems\n");
  const auto told = nlohmann::json::parse(json.out).at("problems");
  REQUIRE(told.size() == 2);
  CHECK(told[0] ==
        nlohmann::json{
            {"file", "x.yaml"}, {"line", 1}, {"column", 2}, {"key", "k"}, {"message", "a"}});
  CHECK(told[1] ==
        nlohmann::json{
            {"file", "command line"}, {"line", 0}, {"column", 0}, {"key", ""}, {"message", "b"}});
}

TEST_CASE("an error's only problem is its sentence, and has its place in JSON") {
  Recorded plain, json;
  ConsoleOptions events;
  events.json = true;
  Console({}, plain.screen(false)).error(78, "x.yaml:1:2: k: a", {{"x.yaml", 1, 2, "k", "a"}});
  Console(events, json.screen(false)).error(78, "x.yaml:1:2: k: a", {{"x.yaml", 1, 2, "k", "a"}});
  CHECK(plain.err == "trainx: x.yaml:1:2: k: a\n");
  CHECK(nlohmann::json::parse(json.out).at("problems").at(0).at("line") == 1);
}

TEST_CASE("the status line never reaches the terminal's last column and leaves out whole parts") {
  for (int columns = 0; columns < 140; ++columns) {
    const std::string line = status_line(report_of(5), Goal{10}, 5, true, columns);
    CHECK(static_cast<int>(line.size()) <= columns);
    CHECK((line.empty() || line.back() != ' '));
  }
  CHECK(status_line(report_of(5), Goal{10}, -1, false, 20) == "step  5/10");
  const std::string narrow =
      status_line(report_of(5), Goal{10, 0, 0, std::int64_t{1} << 31}, 90, true, 79);
  // the memory and -v's parts go first
  for (const char* part : {"step  5/10", "loss 3.5000", "tokens/s", "1 min 30 s left"})
    CHECK(contains(narrow, part));
  CHECK(status_line(report_of(5), Goal{10}, -1, false, 24) == "step  5/10 | loss 3.5000");
  Recorded r;
  r.columns = 25;
  {
    Console console({}, r.screen(true));
    console.step(report_of(5), true);
  }
  // the logged line is plain and wraps; the live one is gone at the end
  CHECK(shown(r.err)[1].empty());
}

TEST_CASE("--json: every event is one object a line on stdout, and nothing else is there") {
  Recorded r;
  {
    ConsoleOptions options;
    options.json = true;
    Console console(options, r.screen(true));
    console.start("training", "outputs/x", {}, {{"run.seed", "42", "command line"}}, Goal{2});
    console.resume(1, "outputs/x/checkpoint-1");
    console.skipped_checkpoint("outputs/x/checkpoint-9", "hash differs");
    auto diverged = report_of(2);
    diverged.loss = std::numeric_limits<double>::quiet_NaN();
    console.step(diverged, true);
    console.step(report_of(3), false);
    EvalReport eval{2, 1.25, 512, {{"perplexity", std::exp(1.25)}}, 1.0};
    console.eval(eval);
    console.checkpoint({2, "outputs/x/checkpoint-2", 0.5, 0.5});
    console.warning("not UTF-8: \xff");
    console.done(2, "outputs/x", "trained");
    console.error(74, "disk gone");
  }
  std::vector<nlohmann::json> events;
  std::istringstream in(r.out);
  for (std::string line; std::getline(in, line);) events.push_back(nlohmann::json::parse(line));
  std::vector<std::string> names;
  for (const auto& e : events) names.push_back(e.at("event"));
  CHECK(names == std::vector<std::string>{"start", "resume", "skipped_checkpoint", "step", "eval",
                                          "checkpoint", "warning", "done", "error"});
  CHECK(events[0]["settings"]["run.seed"] == "42");
  CHECK(events[0]["origins"]["run.seed"] == "command line");
  CHECK(events[3]["step"] == 2);
  CHECK(events[3]["loss"].is_null());
  CHECK(events[4]["eval_loss"] == 1.25);
  CHECK(events[8]["exit_code"] == 74);
  CHECK(shown(r.err) ==
        std::vector<std::string>{"warning: skipped outputs/x/checkpoint-9: hash differs",
                                 "warning: not UTF-8: \xff", "trainx: disk gone", ""});
}

TEST_CASE("-q keeps warnings and errors, -v adds details") {
  Recorded quiet, verbose;
  ConsoleOptions q, v;
  q.quiet = true;
  v.verbose = true;
  for (auto* console :
       {new Console(q, quiet.screen(true)), new Console(v, verbose.screen(false))}) {
    const std::unique_ptr<Console> owner(console);
    console->start("training", "outputs/x", {}, {{"run.seed", "42", "default"}}, Goal{10});
    console->step(report_of(1), true);
    console->message("note");
    console->detail("detail");
    console->warning("careful");
    console->done(1, "outputs/x", "trained");
  }
  CHECK(quiet.err == "warning: careful\n");
  Console(q, quiet.screen(true)).answer({2, 1.25, 512, {{"perplexity", 3.5}}, 1.0});
  check_sentence("metrics.console/answer", quiet.out);
  for (const char* part : {"detail\n", "grad norm", "data wait", "run.seed  42  default\n"})
    CHECK(contains(verbose.err, part));
}

TEST_CASE("colour only where asked for, and the time left of a run measured in time") {
  Recorded plain, colored;
  ConsoleOptions color;
  color.color = true;
  Console(ConsoleOptions{}, plain.screen(false)).warning("careful");
  Console(color, colored.screen(false)).warning("careful");
  CHECK(plain.err == "warning: careful\n");
  CHECK(colored.err == "\033[33mwarning:\033[0m careful\n");
  Recorded timed;
  Console console({}, timed.screen(false));
  console.start("training", "outputs/x", {}, {}, Goal{-1, 120, 30});
  timed.now = 60;
  console.step(report_of(1), true);
  CHECK(contains(timed.err, "| 30 s left"));
}

TEST_CASE(
    "on a terminal logged steps stay at sensible distances, and the closing sentence is last") {
  Recorded r;
  {
    Console console({}, r.screen(true));
    console.start("training", "outputs/x", {}, {}, Goal{1000});
    for (int step = 1; step <= 100; ++step) {
      r.now = step * 0.1;
      console.step(report_of(step), true);
    }
    console.stopped("stopped at step 100");
  }
  const auto lines = shown(r.err);
  const auto steps = std::ranges::count_if(
      lines, [](const std::string& line) { return line.starts_with("step "); });
  CHECK(steps >= 2);
  CHECK(steps <= 10);
  REQUIRE(lines.size() >= 2);
  CHECK(lines[lines.size() - 2] == "stopped at step 100");
  CHECK(lines[lines.size() - 3].starts_with("step  100/1000"));
  CHECK(lines.back().empty());
}

TEST_CASE("a rank other than 0 shows warnings only, and no events") {
  Recorded r;
  ConsoleOptions options;
  options.secondary = options.json = true;
  Console console(options, r.screen(true));
  console.eval({2, 1.25, 512, {}, {}});
  console.step(report_of(1), true);
  console.message("note");
  console.warning("careful");
  CHECK(r.out.empty());
  CHECK(r.err == "warning: careful\n");
}

TEST_CASE("lines of the log are shown above the live line, by their level") {
  Recorded r;
  ConsoleOptions verbose;
  verbose.verbose = true;
  {
    Console console({}, r.screen(true));
    console.step(report_of(1), false);
    trainx::log::debug("hidden");
    trainx::log::info("shown");
    trainx::log::warning("danger");
  }
  const auto lines = shown(r.err);
  CHECK(lines[0] == "shown");
  CHECK(lines[1] == "warning: danger");
  CHECK_FALSE(contains(r.err, "hidden"));
  Recorded all;
  Console console(verbose, all.screen(false));
  trainx::log::debug("a detail");
  CHECK(all.err == "a detail\n");
}

}  // namespace console_test
