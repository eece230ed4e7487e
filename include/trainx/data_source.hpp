// Data sources of your own: samples by position, which trainx shuffles, shares among ranks,
// prepares ahead and resumes.
//
//   class Points : public trainx::DataSource {
//     std::int64_t length() const override { return 1000; }
//     void read(std::int64_t position, trainx::Sample& sample) const override {
//       sample.put("x", std::vector<double>{...});        // a field of the model's graph
//     }
//   };
//
//   trainx::add_data_source<PointsOptions>("points", "what `trainx list data` says",
//       [](const PointsOptions& o, trainx::DataSplit split) -> std::unique_ptr<trainx::DataSource>
//       {
//         return std::make_unique<Points>(...);           // null: no such split
//       });
//
// A recipe names it, its options beside: `data: {type: points, noise: 0.1, sequence_length: 1}`.
#pragma once
#include <trainx/data_source_definition.hpp>
#include <trainx/option_struct.hpp>
#include <utility>

namespace trainx {

/// `open(options, split)` returns a std::unique_ptr or std::shared_ptr. Before worker_main.
template <class Options, class Open>
void add_data_source(std::string name, std::string summary, Open open) {
  add_data_source_definition({std::move(name), std::move(summary), describe_options<Options>(),
                              [open](const std::vector<OptionField>& fields, DataSplit split) {
                                return std::shared_ptr<const DataSource>(
                                    open(read_options<Options>(fields), split));
                              }});
}

}  // namespace trainx
