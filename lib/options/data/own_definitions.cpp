#include "options/data/own_definitions.hpp"

namespace trainx {
namespace {

std::vector<options::OwnDataOptions>& added_sources() {
  static std::vector<options::OwnDataOptions> all;
  return all;
}

}  // namespace

void add_data_source_definition(DataSourceDefinition d) {
  added_sources().push_back(
      {std::move(d.name), std::move(d.summary), std::move(d.options), std::move(d.open)});
}

namespace options {

std::vector<OwnDataOptions> data_source_descriptions() { return added_sources(); }

}  // namespace options
}  // namespace trainx
