#include "data/loader.hpp"
#include "core/error.hpp"
#include "core/mapped_region.hpp"
#include "data/masking.hpp"
#include "data/target_shift.hpp"
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace trainx::data {
namespace {

template <class T>
void hand_out(const std::vector<T>& from, std::span<T> to) {
  if (from.size() != to.size()) throw InternalError("loader: batch of another shape");
  std::ranges::copy(from, to.begin());
}

}  // namespace

SampleView BatchView::row(std::size_t b) const {
  const std::size_t length = tokens.size() / positions.size(),
                    of_target = targets.size() / positions.size();
  const auto part = [b]<class T>(std::span<T> all, std::size_t each) {
    return all.empty() ? all : all.subspan(b * each, each);
  };
  SampleView sample{part(tokens, length),
                    part(targets, of_target),
                    part(token_types, length),
                    part(lengths, 1),
                    part(labels, 1),
                    part(document_starts, length),
                    part(label_values, label_values.size() / positions.size()),
                    part(target_tokens, of_target),
                    {}};
  for (const std::span<std::byte> field : fields) {
    sample.fields.push_back(part(field, field.size() / positions.size()));
    std::ranges::fill(sample.fields.back(), std::byte{0});
  }
  std::ranges::fill(sample.tokens, 0);
  std::ranges::fill(sample.targets, no_target);
  std::ranges::fill(sample.token_types, 0);
  std::ranges::fill(sample.length, static_cast<std::int32_t>(length));
  std::ranges::fill(sample.label, no_target);
  std::ranges::fill(sample.document_starts, 0);
  std::ranges::fill(sample.values, std::numeric_limits<float>::quiet_NaN());
  return sample;
}

/// A ring of `prefetch` slots over the tickets [base, base + prefetch); ticket = step * micro-steps
/// + micro-step, counting those of the share alone. Workers take the tickets in order. Asking for
/// another ticket than `base` moves the window there; what was being prepared for the old one is
/// dropped by its generation.
struct Loader::Impl {
  struct Slot {
    std::vector<std::int32_t> tokens, token_types, document_starts;  // [B, T]
    std::vector<std::int32_t> targets, target_tokens;                // [B, T], or of another text
    std::vector<std::int64_t> positions;                             // [B]
    std::vector<std::int32_t> lengths, labels;                       // [B]
    std::vector<float> label_values;
    std::vector<std::vector<std::byte>> fields;
    std::exception_ptr problem;
    bool ready = false;
  };

  Impl(std::shared_ptr<const Source> s, Order o, LoaderOptions how)
      : source(std::move(s)), order(o), options(how) {
    if (how.micro_batch_size < 1 || how.global_batch_size < 1 ||
        how.global_batch_size % how.micro_batch_size != 0) {
      throw InternalError("loader: global batch of " + std::to_string(how.global_batch_size) +
                          " in micro-batches of " + std::to_string(how.micro_batch_size));
    }
    if (how.row_lengths.empty() || how.row_lengths.front() < 1 ||
        !std::ranges::is_sorted(how.row_lengths))
      throw InternalError("loader: row_lengths are ascending, at least 1");
    if (how.shift.has_value() == how.target_lengths.empty() ||
        (how.shift && how.target_lengths.size() != how.row_lengths.size()))
      throw InternalError("loader: not a length of targets beside each of rows");
    if (how.workers < 1 || how.prefetch < 1)
      throw InternalError("loader: workers and prefetch are at least 1");
    if (how.shares < 1 || how.first_share < 0 || how.first_share >= how.shares ||
        how.global_batch_size / how.micro_batch_size % how.shares != 0)
      throw InternalError("loader: share " + std::to_string(how.first_share) + " of " +
                          std::to_string(how.shares));
    micro_steps = how.global_batch_size / how.micro_batch_size / how.shares;
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
    for (std::int64_t i = 0; i < options.workers; ++i)
      workers.emplace_back([this] { run_worker(); });
  }

  bool is_past_end(std::int64_t ticket) const { return end >= 0 && ticket >= end; }
  Slot& slot_of(std::int64_t ticket) {
    return slots[static_cast<std::size_t>(ticket % options.prefetch)];
  }

  /// Tokens of the sample at a position of the stream; `fills`: of one that fills its row.
  std::int64_t length_at(std::int64_t position, std::int64_t fills) const {
    const std::int64_t length = source->length(order.sample_at(position));
    return length > 0 ? length : fills;
  }

  /// Of both texts, where it is two.
  std::int64_t tokens_at(std::int64_t position) const {
    return length_at(position, options.row_lengths.back()) +
           (options.shift ? source->target_length(order.sample_at(position)) : 0);
  }

  std::size_t shape_of(std::int64_t step) const {
    const auto& lengths = options.row_lengths;
    if (lengths.size() == 1) return 0;
    std::int64_t longest = 1;
    for (std::int64_t i = 0; i < options.global_batch_size; ++i)
      longest = std::max(longest, length_at(step * options.global_batch_size + i, lengths.back()));
    auto fits = std::ranges::lower_bound(lengths, longest);
    for (std::int64_t i = 0; options.shift && i < options.global_batch_size; ++i) {
      const std::int64_t wanted =
          source->target_length(order.sample_at(step * options.global_batch_size + i));
      while (fits != lengths.end() &&
             options.target_lengths[static_cast<std::size_t>(fits - lengths.begin())] < wanted)
        ++fits;
    }
    if (fits == lengths.end())
      throw InternalError("loader: a sample of " + std::to_string(longest) + " tokens in rows of " +
                          std::to_string(lengths.back()));
    return static_cast<std::size_t>(fits - lengths.begin());
  }

  void prepare(std::int64_t ticket, BatchView out) const {
    const std::int64_t micro_batch = ticket % micro_steps * options.shares + options.first_share;
    const std::int64_t first = ticket / micro_steps * options.global_batch_size +
                               micro_batch * options.micro_batch_size;
    for (std::size_t i = 0; i < static_cast<std::size_t>(options.micro_batch_size); ++i) {
      out.positions[i] = first + static_cast<std::int64_t>(i);
      const SampleView row = out.row(i);
      const bool given = source->read(order.sample_at(out.positions[i]), row);
      if (options.masking && !given)
        draw_masks(*options.masking, options.seed, out.positions[i], row);
      if (options.shift) shift_targets(*options.shift, row);
    }
    require_whole_files();
  }

  /// Zeros in the place of what is gone from a file may be refused before it is noticed.
  static std::exception_ptr cause_of(std::exception_ptr problem) {
    try {
      require_whole_files();
    } catch (const UserError&) { return std::current_exception(); }
    return problem;
  }

  Slot prepare_slot(std::int64_t ticket) const {
    Slot slot;
    slot.ready = true;
    try {
      const auto batch = static_cast<std::size_t>(options.micro_batch_size);
      const std::size_t shape = shape_of(ticket / micro_steps);
      const auto of_row = static_cast<std::size_t>(options.row_lengths[shape]);
      for (auto* field : {&slot.tokens, &slot.token_types, &slot.document_starts})
        field->resize(batch * of_row);
      slot.targets.resize(batch * (options.shift
                                       ? static_cast<std::size_t>(options.target_lengths[shape])
                                       : of_row));
      if (options.shift) slot.target_tokens.resize(slot.targets.size());
      for (auto* field : {&slot.lengths, &slot.labels}) field->resize(batch);
      slot.positions.resize(batch);
      slot.label_values.resize(batch * static_cast<std::size_t>(options.label_values));
      BatchView view{slot.tokens,          slot.targets,      slot.positions,
                     slot.token_types,     slot.lengths,      slot.labels,
                     slot.document_starts, slot.label_values, slot.target_tokens};
      for (const FieldSpec& f : options.fields)
        slot.fields.emplace_back(batch * static_cast<std::size_t>(f.bytes()));
      for (std::vector<std::byte>& field : slot.fields) view.fields.emplace_back(field);
      prepare(ticket, view);
    } catch (const std::exception&) { slot.problem = cause_of(std::current_exception()); }
    return slot;
  }

  void run_worker() {
    std::unique_lock lock(mutex);
    for (;;) {
      work.wait(lock,
                [&] { return stopping || (next < base + options.prefetch && !is_past_end(next)); });
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
    // nothing is prepared there: read it here
    if (is_past_end(ticket)) {
      prepare(ticket, out);
    } else {
      std::unique_lock lock(mutex);
      if (ticket != base) move_to(ticket);
      ready.wait(lock, [&] { return slot_of(ticket).ready; });
      Slot& slot = slot_of(ticket);
      if (slot.problem) std::rethrow_exception(slot.problem);  // stays: asking again says the same
      if (!out.tokens.empty()) hand_out(slot.tokens, out.tokens);
      if (!out.targets.empty()) hand_out(slot.targets, out.targets);
      hand_out(slot.positions, out.positions);
      if (!out.token_types.empty()) hand_out(slot.token_types, out.token_types);
      if (!out.lengths.empty()) hand_out(slot.lengths, out.lengths);
      if (!out.labels.empty()) hand_out(slot.labels, out.labels);
      if (!out.document_starts.empty()) hand_out(slot.document_starts, out.document_starts);
      if (!out.label_values.empty()) hand_out(slot.label_values, out.label_values);
      if (!out.target_tokens.empty()) hand_out(slot.target_tokens, out.target_tokens);
      for (std::size_t f = 0; f < out.fields.size(); ++f) hand_out(slot.fields[f], out.fields[f]);
      move_to(ticket + 1);
    }
    const std::lock_guard lock(mutex);
    wait_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  std::shared_ptr<const Source> source;
  Order order;
  LoaderOptions options;
  std::int64_t micro_steps = 1, end = -1;
  std::mutex mutex;  // guards what follows, but the threads
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

void Loader::fetch(std::int64_t step, std::int64_t micro_batch, BatchView out) {
  if (out.positions.size() != static_cast<std::size_t>(impl_->options.micro_batch_size) ||
      out.fields.size() != impl_->options.fields.size() ||
      (!out.targets.empty() &&
       (out.target_tokens.empty() ? out.tokens : out.target_tokens).size() != out.targets.size()))
    throw InternalError("loader: batch of another shape");
  const std::int64_t micro_step = (micro_batch - impl_->options.first_share) /
                                  impl_->options.shares;
  if (step < 0 || micro_batch < impl_->options.first_share ||
      micro_batch != impl_->options.first_share + micro_step * impl_->options.shares ||
      micro_step >= impl_->micro_steps) {
    throw InternalError("loader: no step " + std::to_string(step) + ", micro-batch " +
                        std::to_string(micro_batch));
  }
  impl_->fetch(step * impl_->micro_steps + micro_step, out);
}

std::size_t Loader::shape_of(std::int64_t step) const { return impl_->shape_of(step); }

std::int64_t Loader::tokens_of(std::int64_t step) const {
  std::int64_t tokens = 0;
  for (std::int64_t i = 0; i < impl_->options.global_batch_size; ++i)
    tokens += impl_->tokens_at(step * impl_->options.global_batch_size + i);
  return tokens;
}

std::vector<std::int64_t> Loader::samples_of(std::int64_t step) const {
  const std::int64_t batch = impl_->options.global_batch_size;
  std::vector<std::int64_t> samples(static_cast<std::size_t>(batch));
  for (std::int64_t i = 0; i < batch; ++i)
    samples[static_cast<std::size_t>(i)] = impl_->order.sample_at(step * batch + i);
  return samples;
}

double Loader::take_wait_seconds() {
  const std::lock_guard lock(impl_->mutex);
  return std::exchange(impl_->wait_seconds, 0);
}

}  // namespace trainx::data
