#include "data/order.hpp"
#include "core/error.hpp"
#include "data/counter_random.hpp"
#include "data/grouped_order.hpp"
#include "data/mixture/mixture_order.hpp"
#include "data/permutation.hpp"
#include <string>
#include <utility>

namespace trainx::data {
namespace {

Order::Rule epochs_of(std::int64_t samples, std::uint64_t seed, bool shuffle) {
  if (!shuffle) return [samples](std::int64_t position) { return position % samples; };
  return [samples, seed](std::int64_t position) {
    const std::uint64_t key =
        mix64(mix64(seed + 0x9e3779b97f4a7c15ull) + static_cast<std::uint64_t>(position / samples));
    return static_cast<std::int64_t>(permute(static_cast<std::uint64_t>(position % samples),
                                             static_cast<std::uint64_t>(samples), key));
  };
}

}  // namespace

Order::Order(std::int64_t samples, std::uint64_t seed, bool shuffle)
    : Order(samples, epochs_of(samples, seed, shuffle)) {}

Order::Order(std::int64_t samples, Rule rule) : samples_(samples), rule_(std::move(rule)) {
  if (samples < 1) throw InternalError("order of " + std::to_string(samples) + " samples");
}

std::int64_t Order::sample_at(std::int64_t position) const {
  if (position < 0) throw InternalError("order: position " + std::to_string(position));
  return rule_(position);
}

Order make_order(std::shared_ptr<const Source> source, const OrderOptions& options) {
  const std::vector<MixturePart> parts = source->parts();
  Order order = parts.empty() ? Order(source->samples(), options.seed, options.shuffle)
                              : mixture_order(parts, options.seed, options.shuffle);
  return options.group_by_length ? grouped_order(std::move(source), std::move(order), options.seed,
                                                 options.global_batch_size)
                                 : order;
}

}  // namespace trainx::data
