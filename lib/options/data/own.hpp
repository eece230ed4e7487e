#pragma once
#include "options/field.hpp"
#include "trainx/data_source_definition.hpp"
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::options {

struct OwnDataOptions;
/// Data sources of the worker that is named, in the order of its description. Set once, before the
/// first recipe is read.
const std::vector<OwnDataOptions>& described_data_sources();
void set_described_data_sources(std::vector<OwnDataOptions> sources);

/// A data source of the user's own worker (trainx/data_source.hpp): in a description with defaults,
/// in a recipe as written.
struct OwnDataOptions {
  static constexpr std::string_view of_worker = "a data source";
  static constexpr bool fills_rows = false, has_own_fields = true;
  std::string name, summary;
  std::vector<OptionField> fields;
  // in the worker its own; elsewhere one that knows lengths alone, and reads nothing
  std::function<std::shared_ptr<const DataSource>(const std::vector<OptionField>&, DataSplit)> open;

  static const std::vector<OwnDataOptions>& described() { return described_data_sources(); }
};

template <class Visitor>
void visit_fields(Visitor& field, OwnDataOptions& o) {
  for (OptionField& f : o.fields)
    std::visit([&](auto& value) { field(f.key, value, f.limits, f.doc); }, f.value);
}

/// Opens a split; null: there is none. Throws UserError 65 for what it throws, and for a split
/// without samples.
std::shared_ptr<const DataSource> open_checked(const OwnDataOptions& o, DataSplit split);

/// What forbids a description, as a sentence; empty: nothing. `taken`: names of trainx's own;
/// `section`: keys of the section that the options stand in.
std::string check_description(const std::vector<OwnDataOptions>& sources,
                              const std::vector<std::string>& taken,
                              const std::set<std::string>& section);

}  // namespace trainx::options
