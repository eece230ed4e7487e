#include "options/data/own.hpp"
#include "core/error.hpp"
#include "options/described.hpp"

namespace trainx::options {
namespace {

std::vector<OwnDataOptions>& sources() {
  static std::vector<OwnDataOptions> all;
  return all;
}

}  // namespace

const std::vector<OwnDataOptions>& described_data_sources() { return sources(); }
void set_described_data_sources(std::vector<OwnDataOptions> described) {
  sources() = std::move(described);
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
  std::set<std::string> names(taken.begin(), taken.end());
  for (const OwnDataOptions& o : described)
    if (std::string problem = check_described("data source", o.name, o.fields, names, section);
        !problem.empty())
      return problem;
  return {};
}

}  // namespace trainx::options
