#include "program/axes.hpp"
#include <array>
#include <string_view>
#include <utility>

namespace trainx::program {

std::string name_of(AxisSet set) {
  using Name = std::pair<AxisSet, std::string_view>;
  static constexpr std::array<Name, 10> known{{{axes::all, "all"},
                                               {axes::stage, "stages"},
                                               {axes::data, "data"},
                                               {axes::tensor, "tensor"},
                                               {axes::context, "context"},
                                               {axes::shard, "shards"},
                                               {axes::replica, "replicas"},
                                               {axes::expert, "experts"},
                                               {axes::expert_replica, "replicas of experts"},
                                               {axes::shard - axes::expert, "shards of experts"}}};
  for (const auto& [of, name] : known)
    if (set == of) return std::string(name);
  std::string factors;
  for (const auto& [axis, name] : {Name{axes::stage, "stage"}, Name{axes::replica, "replica"},
                                   Name{axes::shard, "shard"}, Name{axes::tensor, "tensor"}})
    for (const auto& [within, end] :
         {Name{axes::expert_replica, ""}, Name{axes::expert, "/expert"}}) {
      const auto add = [&, &axis = axis, &within = within](AxisSet of, std::string_view more) {
        if (const AxisSet factor = axis & within & of; !factor.is_empty() && set.holds(factor))
          (factors += factors.empty() ? "" : "+").append(name).append(end).append(more);
      };
      if (set.holds(axis & within))
        add(axes::all, "");
      else
        add(axes::all - axes::context, "/batch"), add(axes::context, "/context");
    }
  return factors;
}

}  // namespace trainx::program
