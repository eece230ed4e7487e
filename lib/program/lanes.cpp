#include "program/lanes.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace trainx::program {

struct LaneRunner::Impl {
  /// One list of the program, cut by lane.
  struct Section {
    const LaneProgram* of = nullptr;
    const std::vector<Instruction>* list = nullptr;
    const Waits* waits = nullptr;
    std::array<std::vector<int>, lane_count> positions;

    Section(const LaneProgram& of_, const std::vector<Instruction>& list_, const Waits& waits_)
        : of(&of_), list(&list_), waits(&waits_) {
      if (list_.size() != waits_.size())
        throw InternalError("LaneRunner: the order is of another program");
      for (std::size_t k = 0; k < list_.size(); ++k)
        positions[static_cast<int>(list_[k].lane)].push_back(static_cast<int>(k));
    }
    std::int64_t per_round(std::size_t lane) const {
      return static_cast<std::int64_t>(positions[lane].size());
    }
  };

  const std::vector<LaneProgram> programs;
  std::function<void(Lane)> before_each;
  Section once;
  std::vector<Section> steady;  // of each program

  mutable std::mutex mutex;         // guards all below
  const Section* active = nullptr;  // changes only while all lanes are idle
  std::int64_t submitted = 0;       // rounds of `active` asked for
  // instructions of `active` that each lane has finished, over all rounds
  std::array<std::int64_t, lane_count> done{};
  // rounds of any steady finished before the section became active
  std::int64_t steady_before = 0;
  bool stopping = false;
  std::exception_ptr failure;
  std::condition_variable host;
  // a lane that waits until `lane` has finished `count` instructions; lane_count: for new work
  struct Sleeper {
    std::condition_variable wake;
    std::size_t lane = lane_count;
    std::int64_t count = 0;
  };
  std::array<Sleeper, lane_count> sleepers;
  std::vector<std::thread> threads;

  Impl(std::vector<LaneProgram> p, std::function<void(Lane)> b)
      : programs(std::move(p)),
        before_each(std::move(b)),
        once(programs.at(0), programs[0].program.once, programs[0].order.once) {
    for (const LaneProgram& each : programs)
      if (each.program.repeats > 0)
        throw InternalError("a program that leaves out micro-steps is for planning alone");
    for (const LaneProgram& each : programs)
      steady.emplace_back(each, each.program.steady, each.order.steady);
  }

  /// Not in the constructor: where a thread cannot be had, the destructor ends those that began.
  void start() {
    for (std::size_t l = 0; l < lane_count; ++l)
      if (once.per_round(l) ||
          std::ranges::any_of(steady, [l](const Section& s) { return s.per_round(l) > 0; }))
        threads.emplace_back([this, l] { run_lane(l); });
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
      for (Sleeper& s : sleepers) s.wake.notify_one();
    }
    for (std::thread& t : threads) t.join();
  }

  bool ended() const { return stopping || failure; }

  void run_lane(std::size_t lane) {
    std::unique_lock lock(mutex);
    Sleeper& me = sleepers[lane];
    for (;;) {
      me.lane = lane_count;
      me.wake.wait(lock, [&] {
        return ended() || (active && done[lane] < submitted * active->per_round(lane));
      });
      if (ended()) return;
      const Section& section = *active;
      const std::int64_t round = done[lane] / section.per_round(lane);
      const int position = section.positions[lane][done[lane] % section.per_round(lane)];
      for (const Wait& w : (*section.waits)[position]) {
        me.lane = static_cast<std::size_t>(w.lane);
        me.count = (round - w.back) * section.per_round(me.lane) + w.index + 1;
        me.wake.wait(lock, [&] { return ended() || done[me.lane] >= me.count; });
        if (ended()) return;
      }
      lock.unlock();
      std::exception_ptr thrown;
      try {
        if (before_each) before_each(static_cast<Lane>(lane));
        section.of->execute((*section.list)[position], position);
      } catch (const std::exception&) { thrown = std::current_exception(); }
      lock.lock();
      if (thrown) return fail(thrown);
      ++done[lane];
      for (Sleeper& s : sleepers)
        if (s.lane == lane && done[lane] >= s.count) s.wake.notify_one();
      if (done[lane] % section.per_round(lane) == 0) host.notify_one();
    }
  }

  void fail(const std::exception_ptr& e) {  // with the mutex held
    if (!failure) failure = e;
    for (Sleeper& s : sleepers) s.wake.notify_one();
    host.notify_one();
  }

  /// Rounds of the active section that every lane has finished.
  std::int64_t finished() const {
    std::int64_t rounds = submitted;
    for (std::size_t l = 0; l < lane_count && active; ++l)
      if (active->per_round(l)) rounds = std::min(rounds, done[l] / active->per_round(l));
    return rounds;
  }
  bool is_steady() const { return active && active != &once; }
  std::int64_t finished_steady() const { return steady_before + (is_steady() ? finished() : 0); }

  void wait(std::unique_lock<std::mutex>& lock, std::int64_t rounds) {
    host.wait(lock, [&] { return failure || finished() >= rounds; });
    if (failure) std::rethrow_exception(failure);
  }

  /// Waits for what runs, then makes `next` the active section.
  void enter(std::unique_lock<std::mutex>& lock, const Section& next) {
    wait(lock, submitted);
    if (active == &next) return;
    steady_before = finished_steady();
    active = &next;
    submitted = 0;
    done.fill(0);
  }

  void submit() {  // with the mutex held
    ++submitted;
    for (std::size_t l = 0; l < lane_count; ++l)
      if (sleepers[l].lane == lane_count) sleepers[l].wake.notify_one();
  }

  void run_once() {
    std::unique_lock lock(mutex);
    enter(lock, once);
    submit();
    wait(lock, submitted);
  }
};

LaneRunner::LaneRunner(StepProgram program, Order order, Execute execute,
                       std::function<void(Lane)> before_each)
    : LaneRunner({{std::move(program), std::move(order), std::move(execute)}},
                 std::move(before_each)) {}

LaneRunner::LaneRunner(std::vector<LaneProgram> programs, std::function<void(Lane)> before_each)
    : impl_(std::make_unique<Impl>(std::move(programs), std::move(before_each))) {
  impl_->start();
}

LaneRunner::~LaneRunner() = default;

void LaneRunner::run_once() { impl_->run_once(); }

void LaneRunner::submit_round(std::size_t program) {
  std::unique_lock lock(impl_->mutex);
  if (impl_->failure) std::rethrow_exception(impl_->failure);
  const Impl::Section& steady = impl_->steady.at(program);
  if (impl_->active != &steady) impl_->enter(lock, steady);
  impl_->submit();
}

std::int64_t LaneRunner::finished_rounds() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->finished_steady();
}

void LaneRunner::wait_for_round(std::int64_t n) {
  std::unique_lock lock(impl_->mutex);
  Impl& i = *impl_;
  if (i.failure) std::rethrow_exception(i.failure);
  if (n <= i.steady_before) return;
  if (!i.is_steady() || n > i.steady_before + i.submitted)
    throw InternalError("wait_for_round: round " + std::to_string(n) + " was never submitted");
  i.wait(lock, n - i.steady_before);
}

void LaneRunner::wait_idle() {
  std::unique_lock lock(impl_->mutex);
  impl_->wait(lock, impl_->submitted);
}

}  // namespace trainx::program
