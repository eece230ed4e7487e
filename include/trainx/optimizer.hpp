// Optimizers of your own: options, states, and a rule for a range of a parameter's elements.
//
//   struct SignOptions { double momentum = 0.9, weight_decay = 0; };   // with visit_fields
//
//   trainx::add_optimizer<SignOptions>("sign", "what `trainx list optimizers` says",
//   {{"momentum"}},
//       [](const SignOptions& o, const trainx::UpdateRange& range) {
//         for (std::size_t i = 0; i < range.parameter.size(); ++i) {
//           float& m = range.states[0][i];
//           m = o.momentum * m + (1 - o.momentum) * range.gradient[i];
//           range.parameter[i] -= range.lr * (m > 0 ? 1 : -1);
//         }
//       });
//
// A recipe names it: `optimizer: {type: sign, lr: 1e-3, options: {momentum: 0.95}}`. An option
// `weight_decay` (double) is the weight decay that parameter groups may set; the rule reads that of
// the range, UpdateRange::weight_decay.
//
// A rule may compute with tensors instead, where the parameters are: on a CPU or a GPU.
//
//       [](const SignOptions& o, const trainx::UpdateTensors& range) {
//         range.states[0].lerp_(range.gradient, 1 - o.momentum);
//         range.parameter.sub_(range.states[0].sign() * range.lr);
//       }
//
// On a GPU that is a part of the step's CUDA graph, unless the rule reads values on the host. A
// rule over numbers is called there as well, by the CPU: ranges are copied to the host and back.
//
// The rule is element-wise: what it makes of an element follows from this element's numbers and
// the step's scalars alone. So any cut of the parameters into ranges gives the same numbers, which
// ranks (zero1 to zero3), offload and threads rely on; a run begins with a check of it. It is
// called from several threads at once, of different ranges, and keeps nothing but the states.
#pragma once
#include <trainx/optimizer_definition.hpp>
#include <trainx/option_struct.hpp>
#include <trainx/update_range.hpp>
#include <trainx/update_tensors.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace trainx {

/// `rule(options, range)` updates parameter and states of the range, an UpdateRange or
/// UpdateTensors. Before worker_main.
template <class Options, class Rule>
void add_optimizer(std::string name, std::string summary, std::vector<OptimizerState> states,
                   Rule rule) {
  constexpr bool on_tensors = std::is_invocable_v<Rule&, const Options&, const UpdateTensors&>;
  static_assert(on_tensors || std::is_invocable_v<Rule&, const Options&, const UpdateRange&>,
                "a rule takes (const Options&, const trainx::UpdateRange&), or UpdateTensors");
  using Range = std::conditional_t<on_tensors, UpdateTensors, UpdateRange>;
  add_optimizer_definition(
      {std::move(name), std::move(summary), describe_options<Options>(), std::move(states),
       on_tensors, [rule](const std::vector<OptionField>& fields) -> UpdateRule {
         return std::function<void(const Range&)>(
             [rule, options = read_options<Options>(fields)](const Range& range) {
               rule(options, range);
             });
       }});
}

}  // namespace trainx
