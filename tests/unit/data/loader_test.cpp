#include "data/loader.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

namespace trainx::data::loader_test {
namespace {

constexpr std::int64_t row = 3;

/// Sample i holds i*10, i*10+1, ...; reading takes a random while, so that workers overtake each
/// other. `bad` throws.
class SlowSource final : public Source {
 public:
  explicit SlowSource(std::int64_t samples, std::int64_t bad = -1, int microseconds = 0)
      : samples_(samples), bad_(bad), microseconds_(microseconds) {}
  std::int64_t samples() const override { return samples_; }
  std::int64_t vocab_size() const override { return 0; }
  bool read(std::int64_t index, SampleView out) const override {
    const int count = reads++;
    if (microseconds_ > 0)
      std::this_thread::sleep_for(
          std::chrono::microseconds((index * 7919 + count * 104729) % microseconds_));
    if (index == bad_)
      throw UserError(ExitCode::bad_data, "sample " + std::to_string(index) + " is bad");
    for (std::size_t i = 0; i < row; ++i) {
      out.tokens[i] = static_cast<std::int32_t>(index * 10 + static_cast<std::int64_t>(i));
      out.targets[i] = out.tokens[i] + 1;
    }
    return true;
  }
  mutable std::atomic<int> reads = 0;

 private:
  std::int64_t samples_, bad_;
  int microseconds_;
};

struct Batch {
  explicit Batch(std::int64_t b)
      : tokens(static_cast<std::size_t>(b * row)),
        targets(tokens.size()),
        positions(static_cast<std::size_t>(b)) {}
  BatchView view() { return {tokens, targets, positions}; }
  std::vector<std::int32_t> tokens, targets;
  std::vector<std::int64_t> positions;
};

/// Whether the loader gives for (step, micro_step) what the definition says.
void check_fetch(Loader& loader, const Order& order, const LoaderOptions& o, std::int64_t step,
                 int micro_step) {
  Batch batch(o.micro_batch_size);
  loader.fetch(step, micro_step, batch.view());
  INFO("step " << step << ", micro-step " << micro_step);
  for (std::int64_t i = 0; i < o.micro_batch_size; ++i) {
    const std::int64_t position = step * o.global_batch_size + micro_step * o.micro_batch_size + i;
    REQUIRE(batch.positions[static_cast<std::size_t>(i)] == position);
    for (std::int64_t t = 0; t < row; ++t) {
      REQUIRE(batch.tokens[static_cast<std::size_t>(i * row + t)] ==
              order.sample_at(position) * 10 + t);
      REQUIRE(batch.targets[static_cast<std::size_t>(i * row + t)] ==
              order.sample_at(position) * 10 + t + 1);
    }
  }
}

LoaderOptions cut(std::int64_t global, std::int64_t micro, std::int64_t workers,
                  std::int64_t prefetch) {
  LoaderOptions o;
  o.global_batch_size = global;
  o.micro_batch_size = micro;
  o.row_lengths = {row};
  o.workers = workers;
  o.prefetch = prefetch;
  return o;
}

}  // namespace

TEST_CASE("batches come in order over epoch edges, with any number of workers and any depth") {
  const std::int64_t workers = GENERATE(1, 2, 5), prefetch = GENERATE(1, 2, 7);
  // 6 does not divide 10: steps straddle epochs
  const Order order(10, 42, true);
  const LoaderOptions o = cut(6, 2, workers, prefetch);
  Loader loader(std::make_shared<SlowSource>(10, -1, 200), order, o);
  for (std::int64_t step = 0; step < 12; ++step) {
    for (int m = 0; m < 3; ++m) check_fetch(loader, order, o, step, m);
  }
}

TEST_CASE("the samples of a step do not depend on the cut") {
  const Order order(100, 3, true);
  std::vector<std::vector<std::int32_t>> seen;
  for (const std::int64_t micro : {8, 4, 2, 1}) {
    Loader loader(std::make_shared<SlowSource>(100), order, cut(8, micro, 2, 3));
    std::vector<std::int32_t> tokens;
    for (std::int64_t step = 0; step < 3; ++step) {
      for (int m = 0; m < 8 / micro; ++m) {
        Batch batch(micro);
        loader.fetch(step, m, batch.view());
        tokens.insert(tokens.end(), batch.tokens.begin(), batch.tokens.end());
      }
    }
    seen.push_back(tokens);
  }
  for (const auto& tokens : seen) CHECK(tokens == seen.front());
}

TEST_CASE("any step may be asked for: ahead, back, again, far away") {
  const unsigned seed = 20240520;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const Order order(1000, 42, true);
  LoaderOptions o = cut(4, 2, 3, 4);
  o.first_step = 50;
  Loader loader(std::make_shared<SlowSource>(1000, -1, 60), order, o);
  check_fetch(loader, order, o, 50, 0);
  std::int64_t step = 50;
  for (int i = 0; i < 300; ++i) {
    switch (random() % 5) {
      case 0: step = static_cast<std::int64_t>(random() % 100'000); break;
      case 1: step += 1 + static_cast<std::int64_t>(random() % 3); break;
      case 2: step = std::max<std::int64_t>(0, step - 1); break;
      default: break;
    }
    check_fetch(loader, order, o, step, static_cast<int>(random() % 2));
  }
}

TEST_CASE(
    "preparing is bounded by prefetch and by the last step, beyond which steps are still given") {
  const Order order(1000, 42, false);
  LoaderOptions o = cut(2, 2, 2, 3);
  {
    const auto source = std::make_shared<SlowSource>(1000);
    Loader loader(source, order, o);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    CHECK(source->reads <= 3 * 2);  // three micro-batches of two samples
    check_fetch(loader, order, o, 0, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    CHECK(source->reads <= 4 * 2);
  }
  const auto source = std::make_shared<SlowSource>(1000);
  o.last_step = 2;
  Loader loader(source, order, o);
  check_fetch(loader, order, o, 0, 0);
  check_fetch(loader, order, o, 1, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(source->reads == 2 * 2);
  check_fetch(loader, order, o, 2, 0);
  check_fetch(loader, order, o, 7, 0);
  check_fetch(loader, order, o, 1, 0);
}

TEST_CASE(
    "what a worker meets is thrown where its batch is asked for, each time, and nowhere else") {
  const Order order(100, 42, false);
  const LoaderOptions o = cut(2, 2, 2, 4);
  Loader loader(std::make_shared<SlowSource>(100, 5, 100), order, o);  // sample 5 is in step 2
  check_fetch(loader, order, o, 0, 0);
  check_fetch(loader, order, o, 1, 0);
  Batch batch(2);
  for (int again = 0; again < 2; ++again) {
    try {
      loader.fetch(2, 0, batch.view());
      FAIL("nothing was thrown");
    } catch (const UserError& e) {
      CHECK(e.code() == ExitCode::bad_data);
      CHECK(std::string(e.what()) == "sample 5 is bad");
    }
  }
  check_fetch(loader, order, o, 3, 0);
  check_fetch(loader, order, o, 1, 0);
}

TEST_CASE("a loader may end at any time") {
  const Order order(1000, 42, true);
  for (int i = 0; i < 60; ++i) {
    const LoaderOptions o = cut(4, 2, 1 + i % 4, 1 + i % 5);
    Loader loader(std::make_shared<SlowSource>(1000, i % 7 == 0 ? order.sample_at(1) : -1, 300),
                  order, o);
    std::this_thread::sleep_for(std::chrono::microseconds(i * 37 % 500));
    if (i % 3 == 0) check_fetch(loader, order, o, 5, 1);
    if (i % 3 == 1) check_fetch(loader, order, o, 90, 0);
  }
}

TEST_CASE("waiting for data is counted and taken once") {
  const Order order(100, 42, false);
  const LoaderOptions o = cut(1, 1, 1, 1);
  Loader loader(std::make_shared<SlowSource>(100, -1, 20'000), order, o);
  for (int s = 0; s < 5; ++s) check_fetch(loader, order, o, s, 0);
  const double waited = loader.take_wait_seconds();
  CHECK(waited > 0.005);
  CHECK(waited < 10);
  CHECK(loader.take_wait_seconds() == 0);
}

TEST_CASE("a cut that does not fit and a batch of another shape are bugs") {
  const Order order(100, 42, false);
  const auto source = std::make_shared<SlowSource>(100);
  CHECK_THROWS_AS(Loader(source, order, cut(5, 2, 1, 1)), InternalError);
  CHECK_THROWS_AS(Loader(source, order, cut(4, 2, 0, 1)), InternalError);
  Loader loader(source, order, cut(4, 2, 1, 1));
  Batch batch(3), right(2);
  CHECK_THROWS_AS(loader.fetch(0, 0, batch.view()), InternalError);
  CHECK_THROWS_AS(loader.fetch(0, 2, right.view()), InternalError);
  CHECK_THROWS_AS(loader.fetch(-1, 0, right.view()), InternalError);
}

}  // namespace trainx::data::loader_test
