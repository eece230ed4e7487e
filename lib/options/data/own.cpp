#include "options/data/own.hpp"
#include "core/error.hpp"
#include "options/described.hpp"
#include "options/registry.hpp"

namespace trainx::options {

const std::vector<OwnDataOptions>& described_data_sources() { return registry<OwnDataOptions>(); }
void set_described_data_sources(std::vector<OwnDataOptions> described) {
  registry<OwnDataOptions>() = std::move(described);
}

std::shared_ptr<const DataSource> open_checked(const OwnDataOptions& o, DataSplit split) {
  const std::string who = "data source " + o.name +
                          (split == DataSplit::train ? ", split train: " : ", split eval: ");
  std::shared_ptr<const DataSource> source;
  std::int64_t length = 0;
  try {
    source = o.open(o.fields, split);
    if (source) length = source->length();
  } catch (const UserError&) {
    throw;  // of the worker that was asked
  } catch (const std::exception& e) { throw UserError(ExitCode::bad_data, who + e.what()); }
  if (!source && split == DataSplit::train)
    throw UserError(ExitCode::bad_data, who + "it has none to train on");
  if (source && length < 1) throw UserError(ExitCode::bad_data, who + "it has no samples");
  return source;
}

std::string check_description(const std::vector<OwnDataOptions>& described,
                              const std::vector<std::string>& taken,
                              const std::set<std::string>& section) {
  return check_all_described("data source", described, taken, section);
}

}  // namespace trainx::options
