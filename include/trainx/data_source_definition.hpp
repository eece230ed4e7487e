#pragma once
#include <trainx/option_field.hpp>
#include <trainx/sample.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace trainx {

enum class DataSplit : std::uint8_t { train, eval };

/// Samples by position. Called from several threads at once; the same position has the same sample
/// whenever it is read.
class DataSource {
 public:
  virtual ~DataSource() = default;
  virtual std::int64_t length() const = 0;  // samples
  /// `sample` comes in empty. 0 <= position < length().
  virtual void read(std::int64_t position, Sample& sample) const = 0;
  /// Of input_ids; 0: the recipe says it, or there are none.
  virtual std::int64_t vocab_size() const { return 0; }
};

/// A data source of the user's own as trainx sees it. <trainx/data_source.hpp> makes these.
struct DataSourceDefinition {
  std::string name, summary;
  std::vector<OptionField> options;  // with defaults
  // null: there is no such split; only eval may be missing
  std::function<std::shared_ptr<const DataSource>(const std::vector<OptionField>&, DataSplit)> open;
};

/// Makes the source known to this worker; before worker_main, which tells what is wrong with it.
void add_data_source_definition(DataSourceDefinition definition);

}  // namespace trainx
