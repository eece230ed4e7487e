#include "data/grouped_order.hpp"
#include "core/error.hpp"
#include "data/counter_random.hpp"
#include <algorithm>
#include <limits>
#include <list>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

namespace trainx::data {
namespace {

constexpr std::int64_t window_batches = 64;
constexpr std::size_t kept_windows = 4;

class Grouping {
 public:
  Grouping(std::shared_ptr<const Source> source, Order base, std::uint64_t seed,
           std::int64_t global_batch_size)
      : source_(std::move(source)), base_(std::move(base)), seed_(seed), batch_(global_batch_size) {
    if (batch_ < 1) throw InternalError("order: grouping batches of " + std::to_string(batch_));
  }

  std::int64_t sample_at(std::int64_t position) {
    const std::int64_t epoch = position / base_.samples(),
                       window = position / (window_batches * batch_);
    const std::int64_t begin = std::max(epoch * base_.samples(), window * window_batches * batch_);
    const std::int64_t end =
        std::min((epoch + 1) * base_.samples(), (window + 1) * window_batches * batch_);
    const std::lock_guard lock(mutex_);
    auto found = std::ranges::find(kept_, begin, &Window::begin);
    if (found == kept_.end()) {
      kept_.push_front({begin, arrange(begin, end)});
      if (kept_.size() > kept_windows) kept_.pop_back();
    } else {
      kept_.splice(kept_.begin(), kept_, found);
    }
    return kept_.front().samples[static_cast<std::size_t>(position - begin)];
  }

 private:
  struct Window {
    std::int64_t begin = 0;             // its first position
    std::vector<std::int64_t> samples;  // by position
  };

  std::vector<std::int64_t> arrange(std::int64_t begin, std::int64_t end) const {
    struct Drawn {
      std::int64_t length = 0, sample = 0;
    };
    std::vector<Drawn> drawn(static_cast<std::size_t>(end - begin));
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      const std::int64_t sample = base_.sample_at(begin + static_cast<std::int64_t>(i)),
                         length = source_->length(sample);
      // 0: as long as its row
      drawn[i] = {length > 0 ? length : std::numeric_limits<std::int64_t>::max(), sample};
    }
    std::ranges::stable_sort(drawn, {}, &Drawn::length);
    // Batches begin at multiples of their size; those at an epoch's edge have a part here only.
    const std::int64_t first = begin / batch_, batches = (end - 1) / batch_ - first + 1;
    std::vector<std::int64_t> order(static_cast<std::size_t>(batches));
    std::iota(order.begin(), order.end(), first);
    CounterRandom random(seed_, stream, static_cast<std::uint64_t>(begin));
    // Fisher & Yates
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(i))]);
    std::vector<std::int64_t> samples(drawn.size());
    auto next = drawn.begin();
    for (const std::int64_t batch : order)
      for (std::int64_t p = std::max(begin, batch * batch_);
           p < std::min(end, (batch + 1) * batch_); ++p)
        samples[static_cast<std::size_t>(p - begin)] = (next++)->sample;
    return samples;
  }

  static constexpr std::uint64_t stream = 0x67726f7570ull;  // of the order of batches
  std::shared_ptr<const Source> source_;
  Order base_;
  std::uint64_t seed_;
  std::int64_t batch_;
  std::mutex mutex_;        // guards what follows
  std::list<Window> kept_;  // the latest used first
};

}  // namespace

Order grouped_order(std::shared_ptr<const Source> source, Order base, std::uint64_t seed,
                    std::int64_t global_batch_size) {
  const std::int64_t samples = base.samples();
  auto grouping =
      std::make_shared<Grouping>(std::move(source), std::move(base), seed, global_batch_size);
  return Order(samples,
               [grouping](std::int64_t position) { return grouping->sample_at(position); });
}

}  // namespace trainx::data
