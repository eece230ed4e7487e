#include "options/data/own_definitions.hpp"
#include "options/registry.hpp"

namespace trainx {

void add_data_source_definition(DataSourceDefinition d) {
  options::registry<DataSourceDefinition>().push_back(std::move(d));
}

namespace options {

std::vector<OwnDataOptions> data_source_descriptions() {
  std::vector<OwnDataOptions> all;
  for (const DataSourceDefinition& d : registry<DataSourceDefinition>())
    all.push_back({d.name, d.summary, d.options, d.open});
  return all;
}

}  // namespace options
}  // namespace trainx
