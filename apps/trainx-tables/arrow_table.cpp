// libtrainx_tables.so: Parquet and Arrow files by Apache Arrow.
#include "core/error.hpp"
#include "data/tables/table_file.hpp"
#include "row_json.hpp"
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <algorithm>
#include <set>

namespace trainx::data::tables {
namespace {

using arrow::RecordBatch;

constexpr std::int64_t rows_at_once = 256;

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw UserError(ExitCode::bad_data, path + " " + what);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

void check(const arrow::Status& status, const std::string& path) {
  if (!status.ok()) refuse(path, "cannot be read: " + first_line(status.message()));
}

template <class Value>
Value value_of(arrow::Result<Value> result, const std::string& path) {
  check(result.status(), path);
  return std::move(result).ValueUnsafe();
}

/// Calls `read`; what Parquet's reader throws is refused.
template <class Read>
auto guarded(const std::string& path, Read&& read) {
  try {
    return read();
  } catch (const parquet::ParquetException& problem) {
    refuse(path, "cannot be read: " + first_line(problem.what()));
  }
}

/// What the kinds of files have in common.
class ArrowTable : public TableFile {
 public:
  ArrowTable(std::string path, const std::vector<std::string>& wanted)
      : path_(std::move(path)), wanted_(wanted.begin(), wanted.end()) {}

  std::vector<std::string> columns() const override { return schema_->field_names(); }

 protected:
  void set_schema(std::shared_ptr<arrow::Schema> schema) {
    schema_ = std::move(schema);
    std::set<std::string> seen;
    for (const auto& field : schema_->fields()) {
      if (!wanted_.contains(field->name())) continue;
      if (!seen.insert(field->name()).second)
        refuse(path_, "has the column '" + field->name() + "' twice");
      if (!is_writable(*field->type()))
        refuse(path_, "has the column '" + field->name() + "' of type " +
                          first_line(field->type()->ToString()) +
                          ", which is neither text, nor numbers, nor lists of these");
    }
  }

  void write_rows(const RecordBatch& batch,
                  const std::function<void(const std::string&)>& use) const {
    check(batch.ValidateFull(), path_);  // text is UTF-8, offsets lie inside
    std::vector<std::pair<std::string, std::shared_ptr<arrow::Array>>> columns;
    for (int i = 0; i < batch.num_columns(); ++i) {
      if (!wanted_.contains(batch.column_name(i))) continue;
      std::string key;
      append_text(batch.column_name(i), key);
      columns.emplace_back(std::move(key), batch.column(i));
    }
    std::string row;
    for (std::int64_t r = 0; r < batch.num_rows(); ++r) {
      row = "{";
      for (const auto& [key, values] : columns) {
        if (row.size() > 1) row += ", ";
        row += key + ": ";
        append_value(*values, r, row);
      }
      row += '}';
      use(row);
    }
  }

  std::string path_;
  std::set<std::string> wanted_;

 private:
  std::shared_ptr<arrow::Schema> schema_;
};

class ParquetTable final : public ArrowTable {
 public:
  ParquetTable(const std::string& path, const std::vector<std::string>& wanted,
               const std::shared_ptr<arrow::io::RandomAccessFile>& file)
      : ArrowTable(path, wanted) {
    parquet::ReaderProperties how;
    how.enable_buffered_stream();  // pages one by one, not a group's whole column
    parquet::ArrowReaderProperties to_arrow(/*use_threads=*/false);
    to_arrow.set_batch_size(rows_at_once);
    to_arrow.set_pre_buffer(false);
    parquet::arrow::FileReaderBuilder builder;
    check(builder.Open(file, how), path_);
    reader_ = value_of(builder.properties(to_arrow)->Build(), path_);
    std::shared_ptr<arrow::Schema> schema;
    check(reader_->GetSchema(&schema), path_);
    set_schema(std::move(schema));
    const auto metadata = reader_->parquet_reader()->metadata();
    for (int i = 0; i < metadata->num_columns(); ++i)
      if (wanted_.contains(metadata->schema()->Column(i)->path()->ToDotVector().front()))
        leaves_.push_back(i);
    for (int g = 0; g < metadata->num_row_groups(); ++g)
      begins_.push_back(begins_.back() + metadata->RowGroup(g)->num_rows());
  }

  std::int64_t groups() const override { return static_cast<std::int64_t>(begins_.size()) - 1; }
  std::int64_t first_row(std::int64_t group) override {
    return begins_.at(static_cast<std::size_t>(group));
  }
  void for_each_row(std::int64_t group,
                    const std::function<void(const std::string&)>& use) override {
    const auto batches = guarded(path_, [&] {
      return value_of(reader_->GetRecordBatchReader({static_cast<int>(group)}, leaves_), path_);
    });
    for (std::shared_ptr<RecordBatch> batch;;) {
      guarded(path_, [&] { check(batches->ReadNext(&batch), path_); });
      if (!batch) return;
      write_rows(*batch, use);
    }
  }

 private:
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::vector<int> leaves_;  // of the columns asked for
  std::vector<std::int64_t> begins_{0};
};

class ArrowFileTable final : public ArrowTable {
 public:
  ArrowFileTable(const std::string& path, const std::vector<std::string>& wanted,
                 const std::shared_ptr<arrow::io::RandomAccessFile>& file)
      : ArrowTable(path, wanted),
        reader_(value_of(arrow::ipc::RecordBatchFileReader::Open(file), path_)) {
    set_schema(reader_->schema());
  }
  std::int64_t groups() const override { return reader_->num_record_batches(); }
  std::int64_t first_row(std::int64_t group) override {
    while (static_cast<std::int64_t>(begins_.size()) <= group)
      begins_.push_back(begins_.back() +
                        batch(static_cast<std::int64_t>(begins_.size()) - 1)->num_rows());
    return begins_[static_cast<std::size_t>(group)];
  }
  void for_each_row(std::int64_t group,
                    const std::function<void(const std::string&)>& use) override {
    write_rows(*batch(group), use);
  }

 private:
  std::shared_ptr<RecordBatch> batch(std::int64_t group) {
    return value_of(reader_->ReadRecordBatch(static_cast<int>(group)), path_);
  }

  std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader_;
  std::vector<std::int64_t> begins_{0};
};

class ArrowStreamTable final : public ArrowTable {
 public:
  ArrowStreamTable(const std::string& path, const std::vector<std::string>& wanted,
                   const std::shared_ptr<arrow::io::RandomAccessFile>& file)
      : ArrowTable(path, wanted),
        reader_(value_of(arrow::ipc::RecordBatchStreamReader::Open(file), path_)) {
    set_schema(reader_->schema());
  }
  std::int64_t groups() const override { return 1; }
  std::int64_t first_row(std::int64_t) override { return 0; }
  void for_each_row(std::int64_t, const std::function<void(const std::string&)>& use) override {
    if (std::exchange(read_, true)) throw InternalError("tables: a stream is read twice");
    for (std::shared_ptr<RecordBatch> batch;;) {
      check(reader_->ReadNext(&batch), path_);
      if (!batch) return;
      write_rows(*batch, use);
    }
  }

 private:
  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> reader_;
  bool read_ = false;
};

std::unique_ptr<TableFile> open(const std::string& path, const std::vector<std::string>& wanted) {
  const auto file =
      value_of(arrow::io::MemoryMappedFile::Open(path, arrow::io::FileMode::READ), path);
  const auto start = value_of(file->ReadAt(0, 6), path)->ToString();
  if (start.starts_with("PAR1")) return std::make_unique<ParquetTable>(path, wanted, file);
  if (start == "ARROW1") return std::make_unique<ArrowFileTable>(path, wanted, file);
  return std::make_unique<ArrowStreamTable>(path, wanted, file);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) std::unique_ptr<TableFile> trainx_open_table(
    const std::string& path, const std::vector<std::string>& columns) {
  return guarded(path, [&] { return open(path, columns); });
}

}  // namespace trainx::data::tables
