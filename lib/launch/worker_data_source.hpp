// Data sources of a worker of the user's own, of which only the worker has the samples.
#pragma once
#include "trainx/data_source_definition.hpp"

namespace trainx::launch {

/// Opens a split by asking the worker (`--describe-data`), each time: data may change. What comes
/// back knows how many samples there are and reads none. Throws UserError 65 or 78 for what the
/// worker says of its source, 69 where it does not answer.
std::function<std::shared_ptr<const DataSource>(const std::vector<OptionField>&, DataSplit)>
asked_data_source(const std::string& worker, const std::string& name);

}  // namespace trainx::launch
