// Parquet and Arrow files, a row at a time as a JSON object. Apache Arrow reads them, in a library
// of its own beside trainx that is loaded when it is first needed: it takes 60 MB.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace trainx::data::tables {

/// One thread's.
class TableFile {
 public:
  virtual ~TableFile() = default;
  /// Of all columns, in the file's order.
  virtual std::vector<std::string> columns() const = 0;
  /// What is read by itself: Parquet's row groups, an Arrow file's batches; an Arrow stream is one.
  virtual std::int64_t groups() const = 0;
  /// Number of a group's first row, from 0.
  virtual std::int64_t first_row(std::int64_t group) = 0;
  /// Calls `use` with each row of a group, {"column": value, ...} of the columns asked for that the
  /// file has. Memory does not grow with the group. Throws UserError 65, and what `use` throws.
  virtual void for_each_row(std::int64_t group,
                            const std::function<void(const std::string& row)>& use) = 0;
};

/// Whether a file is Parquet or Arrow, by its first bytes, or its name for an Arrow stream.
bool is_table(std::span<const std::byte> bytes, const std::string& path);

/// Throws UserError 69: trainx was built without Apache Arrow, or it cannot be loaded; `path` is
/// the file that needs it.
void require_library(const std::string& path);

/// Throws UserError: 69 trainx was built without Apache Arrow, or it cannot be loaded; 66, 65.
std::unique_ptr<TableFile> open_table(const std::string& path,
                                      const std::vector<std::string>& columns);

/// The library's function `trainx_open_table`, which throws as open_table does.
using OpenTable = std::unique_ptr<TableFile>(const std::string& path,
                                             const std::vector<std::string>& columns);

}  // namespace trainx::data::tables
