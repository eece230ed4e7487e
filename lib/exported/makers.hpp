// Which call makes a value, and what calls take: what patterns of calls are found by.
#pragma once
#include "exported/call.hpp"
#include <optional>
#include <string_view>
#include <vector>

namespace trainx::exported {

class Makers {
 public:
  explicit Makers(const PreparedGraph& graph);
  /// The call that makes the argument, if it is that operator's and was not fused.
  const Call* of(const Slot& slot, std::string_view op) const;

 private:
  const PreparedGraph& graph_;
  std::vector<std::int64_t> of_;  // index of the call by value; -1: none
};

std::optional<double> number_of(const Slot& slot);
bool is_number(const Slot& slot, double wanted);
bool is_value(const Slot& slot, std::int64_t value);
Slot slot_of(std::int64_t value);
/// x + y, not x + alpha y.
bool is_plain_sum(const Call& add);

}  // namespace trainx::exported
