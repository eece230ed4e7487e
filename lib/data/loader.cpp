#include "data/loader.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace trainx::data {

/// A ring of `prefetch` slots over the tickets [base, base + prefetch); ticket = step * micro-steps + micro-step. Workers take the tickets in order.
/// Asking for another ticket than `base` moves the window there; what was being prepared for the old one is dropped by its generation.
struct Loader::Impl {
  struct Slot {
    std::vector<std::int32_t> tokens, targets;            // [B, T]
    std::vector<std::int64_t> positions;                  // [B]
    std::exception_ptr problem;
    bool ready = false;
  };

  Impl(std::shared_ptr<const Source> s, Order o, LoaderOptions how) : source(std::move(s)), order(o), options(how) {
    if (how.micro_batch_size < 1 || how.global_batch_size < 1 || how.global_batch_size % how.micro_batch_size != 0) {
      throw InternalError("loader: global batch of " + std::to_string(how.global_batch_size) + " in micro-batches of " + std::to_string(how.micro_batch_size));
    }
    if (how.sequence_length < 1 || how.workers < 1 || how.prefetch < 1) throw InternalError("loader: length, workers and prefetch are at least 1");
    micro_steps = how.global_batch_size / how.micro_batch_size;
    base = next = how.first_step * micro_steps;
    end = how.last_step < 0 ? -1 : how.last_step * micro_steps;
    slots.resize(static_cast<std::size_t>(how.prefetch));
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    work.notify_all();
    for (std::thread& t : workers) t.join();
  }

  void start() {
    for (std::int64_t i = 0; i < options.workers; ++i) workers.emplace_back([this] { run_worker(); });
  }

  bool is_past_end(std::int64_t ticket) const { return end >= 0 && ticket >= end; }
  Slot& slot_of(std::int64_t ticket) { return slots[static_cast<std::size_t>(ticket % options.prefetch)]; }

  void prepare(std::int64_t ticket, BatchView out) const {
    const std::int64_t first = ticket / micro_steps * options.global_batch_size + ticket % micro_steps * options.micro_batch_size;
    const auto length = static_cast<std::size_t>(options.sequence_length);
    for (std::size_t i = 0; i < static_cast<std::size_t>(options.micro_batch_size); ++i) {
      out.positions[i] = first + static_cast<std::int64_t>(i);
      source->read(order.sample_at(out.positions[i]), {out.tokens.subspan(i * length, length), out.targets.subspan(i * length, length)});
    }
  }

  Slot prepare_slot(std::int64_t ticket) const {
    const auto batch = static_cast<std::size_t>(options.micro_batch_size), length = static_cast<std::size_t>(options.sequence_length);
    Slot slot;
    slot.ready = true;
    try {
      slot.tokens.resize(batch * length);
      slot.targets.resize(batch * length);
      slot.positions.resize(batch);
      prepare(ticket, {slot.tokens, slot.targets, slot.positions});
    } catch (const std::exception&) {
      slot.problem = std::current_exception();
    }
    return slot;
  }

  void run_worker() {
    std::unique_lock lock(mutex);
    for (;;) {
      work.wait(lock, [&] { return stopping || (next < base + options.prefetch && !is_past_end(next)); });
      if (stopping) return;
      const std::int64_t ticket = next++, seen = generation;
      lock.unlock();
      Slot slot = prepare_slot(ticket);
      lock.lock();
      if (seen != generation || ticket < base) continue;
      std::swap(slot_of(ticket), slot);
      ready.notify_all();
    }
  }

  /// Makes `ticket` the front of the window; keeps what is prepared of the new one.
  void move_to(std::int64_t ticket) {
    if (ticket >= base && ticket <= next) {
      for (std::int64_t t = base; t < ticket; ++t) slot_of(t).ready = false;
    } else {
      for (Slot& s : slots) s.ready = false;
      ++generation;
      next = ticket;
    }
    base = ticket;
    work.notify_all();
  }

  void fetch(std::int64_t ticket, BatchView out) {
    const auto begin = std::chrono::steady_clock::now();
    if (is_past_end(ticket)) {                              // nothing is prepared there: read it here
      prepare(ticket, out);
    } else {
      std::unique_lock lock(mutex);
      if (ticket != base) move_to(ticket);
      ready.wait(lock, [&] { return slot_of(ticket).ready; });
      Slot& slot = slot_of(ticket);
      if (slot.problem) std::rethrow_exception(slot.problem);  // stays: asking again says the same
      std::copy(slot.tokens.begin(), slot.tokens.end(), out.tokens.begin());
      std::copy(slot.targets.begin(), slot.targets.end(), out.targets.begin());
      std::copy(slot.positions.begin(), slot.positions.end(), out.positions.begin());
      move_to(ticket + 1);
    }
    const std::lock_guard lock(mutex);
    wait_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  std::shared_ptr<const Source> source;
  Order order;
  LoaderOptions options;
  std::int64_t micro_steps = 1, end = -1;
  std::mutex mutex;                                         // guards what follows, but the threads
  std::condition_variable work, ready;
  std::vector<Slot> slots;
  std::int64_t base = 0, next = 0, generation = 0;
  bool stopping = false;
  double wait_seconds = 0;
  std::vector<std::thread> workers;
};

Loader::Loader(std::shared_ptr<const Source> source, Order order, LoaderOptions options)
    : impl_(std::make_unique<Impl>(std::move(source), order, options)) {
  impl_->start();
}

Loader::~Loader() = default;

void Loader::fetch(std::int64_t step, int micro_step, BatchView out) {
  const auto batch = static_cast<std::size_t>(impl_->options.micro_batch_size);
  const std::size_t elements = batch * static_cast<std::size_t>(impl_->options.sequence_length);
  if (out.tokens.size() != elements || out.targets.size() != elements || out.positions.size() != batch) throw InternalError("loader: batch of another shape");
  if (step < 0 || micro_step < 0 || micro_step >= impl_->micro_steps) {
    throw InternalError("loader: no step " + std::to_string(step) + ", micro-step " + std::to_string(micro_step));
  }
  impl_->fetch(step * impl_->micro_steps + micro_step, out);
}

double Loader::take_wait_seconds() {
  const std::lock_guard lock(impl_->mutex);
  return std::exchange(impl_->wait_seconds, 0);
}

}  // namespace trainx::data
