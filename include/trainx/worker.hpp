// Training models of torch::nn modules with trainx: a worker of your own. See examples/ and
// README.md.
//
//   struct MixerOptions { std::int64_t width = 64; };
//   template <class Visitor> void visit_fields(Visitor& field, MixerOptions& o) { field("width",
//   o.width, trainx::at_least(1), "features of a token"); }
//
//   int main(int argc, char** argv) {
//     trainx::add_model<MixerOptions>("mixer", "what `trainx list models` says", [](const
//     MixerOptions& o, const trainx::ModelShape& shape) {
//       return std::vector<trainx::Module>{trainx::named("embedding",
//       torch::nn::Embedding(shape.vocab_size, o.width)), ...};
//     });
//     return trainx::worker_main(argc, argv);
//   }
//
// A chain of modules reads tokens and makes logits. A graph has values by name, fields of its own
// from jsonl lines, and may have a loss of its own:
//
//   trainx::Graph graph;
//   graph.field("image", {3, 8, 8});
//   graph.field("label", {}, trainx::FieldType::i64);
//   graph.add("stem", Stem(o.width), {"image"}, {"features"});
//   graph.add("loss", ClassLoss(), {"features", "label"});  // returns a trainx::Loss
//
// Options are bool, std::int64_t, double, std::string (an empty default means that a value is
// required) or an enum with enum_names(). Four keys mean to trainx what they mean for its own
// models, where a model has them:
//   vocab_size     std::int64_t; 0, or no such key: the data source's
//   max_positions  std::int64_t; 0, or no such key: data.sequence_length
//   task           an enum or text of causal_lm, masked_lm, classification; no such key: causal_lm
//   num_labels     std::int64_t; classification: the number of classes
//
// The modules are built after torch::manual_seed(run.seed): equal seeds give equal weights, those
// that a plain loop with that seed gives. Each module is kept, recomputed and updated as a whole,
// so that memory is saved between modules, not within. In forward a module may draw random numbers
// (dropout): they are the same when it is recomputed and when the run is resumed. Buffers that a
// module changes in forward (BatchNorm's) are saved and restored; such a module is not recomputed.
// In evaluation the last batch may be smaller than micro_batch_size: a loss of your own sees
// samples of the data alone.
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <trainx/model_definition.hpp>
#include <trainx/option_struct.hpp>
#include <trainx/worker_main.hpp>
#include <cstdint>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

namespace trainx {

/// A module of the chain; M has `torch::Tensor forward(torch::Tensor)`.
template <class M>
Module named(std::string name, std::shared_ptr<M> module) {
  Module link;
  link.name = std::move(name);
  for (const auto& p : module->named_parameters()) link.parameters.push_back({p.key(), p.value()});
  for (const auto& b : module->named_buffers()) link.buffers.push_back({b.key(), b.value()});
  link.forward = [m = module.get()](const at::Tensor& x) -> at::Tensor { return m->forward(x); };
  link.set_training = [m = module.get()](bool training) { m->train(training); };
  link.owner = std::move(module);
  return link;
}
template <class M>
Module named(std::string name, const torch::nn::ModuleHolder<M>& holder) {
  return named(std::move(name), holder.ptr());
}

namespace detail {

template <class R>
std::vector<at::Tensor> results_of(R&& result) {
  if constexpr (std::is_convertible_v<R, at::Tensor>) {
    return {std::forward<R>(result)};
  } else if constexpr (std::is_convertible_v<R, std::vector<at::Tensor>>) {
    return std::forward<R>(result);
  } else {
    return std::apply(
        [](auto&&... each) {
          return std::vector<at::Tensor>{std::forward<decltype(each)>(each)...};
        },
        std::forward<R>(result));
  }
}

/// A member function that takes a list, or so many tensors.
template <class C, class R, class... Arguments>
struct ForwardTypes {
  using Class = C;  // that declares it: the module, or a base of it
  using Result = R;
  static constexpr std::size_t count = sizeof...(Arguments);
  static constexpr bool takes_list =
      count == 1 &&
      (std::is_same_v<std::remove_cvref_t<Arguments>, std::vector<at::Tensor>> && ...);
};
template <class F>
struct ForwardOf;
template <class C, class R, class... Arguments>
struct ForwardOf<R (C::*)(Arguments...)> : ForwardTypes<C, R, Arguments...> {};
template <class C, class R, class... Arguments>
struct ForwardOf<R (C::*)(Arguments...) const> : ForwardTypes<const C, R, Arguments...> {};

template <class F>
typename ForwardOf<F>::Result call_forward(typename ForwardOf<F>::Class& module, F forward,
                                           const std::vector<at::Tensor>& inputs) {
  if constexpr (ForwardOf<F>::takes_list) {
    return (module.*forward)(inputs);
  } else {
    if (inputs.size() != ForwardOf<F>::count)
      throw std::invalid_argument("its forward takes " + std::to_string(ForwardOf<F>::count) +
                                  " tensors, and it has " + std::to_string(inputs.size()) +
                                  " inputs");
    return [&]<std::size_t... k>(std::index_sequence<k...>) {
      return (module.*forward)(inputs[k]...);
    }
    (std::make_index_sequence<ForwardOf<F>::count>());
  }
}

}  // namespace detail

template <class M>
void Graph::add(std::string name, M module, std::vector<std::string> inputs,
                std::vector<std::string> outputs) {
  if constexpr (requires { typename M::ContainedType; }) {  // torch::nn::ModuleHolder
    add(std::move(name), module.ptr(), std::move(inputs), std::move(outputs));
  } else {
    using Of = typename M::element_type;
    GraphModule node;
    node.name = std::move(name);
    node.inputs = std::move(inputs), node.outputs = std::move(outputs);
    for (const auto& p : module->named_parameters())
      node.parameters.push_back({p.key(), p.value()});
    for (const auto& b : module->named_buffers()) node.buffers.push_back({b.key(), b.value()});
    if constexpr (requires { &Of::forward; }) {
      using Forward = detail::ForwardOf<decltype(&Of::forward)>;
      typename Forward::Class* const of = module.get();
      const auto call = [of](const std::vector<at::Tensor>& x) {
        return detail::call_forward(*of, &Of::forward, x);
      };
      if constexpr (std::is_same_v<typename Forward::Result, Loss>)
        node.loss = call;
      else
        node.forward = [call](const std::vector<at::Tensor>& x) {
          return detail::results_of(call(x));
        };
    } else {  // a template, such as torch::nn::Sequential's
      node.forward = [m = module.get()](const std::vector<at::Tensor>& x) {
        if (x.size() != 1) throw std::invalid_argument("its forward takes one tensor");
        return std::vector<at::Tensor>{m->forward(x[0])};
      };
    }
    node.set_training = [m = module.get()](bool training) { m->train(training); };
    node.owner = std::move(module);
    modules.push_back(std::move(node));
  }
}

/// `build(options, shape)` returns a Graph, or the chain: std::vector<Module>.
template <class Options, class Build>
void add_model(std::string name, std::string summary, Build build) {
  add_model_definition({std::move(name), std::move(summary), describe_options<Options>(),
                        [build](const std::vector<OptionField>& fields, const ModelShape& shape) {
                          return Graph(build(read_options<Options>(fields), shape));
                        }});
}

}  // namespace trainx
