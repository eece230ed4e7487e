#pragma once
#include <arrow/api.h>
#include <cstdint>
#include <string>

namespace trainx::data::tables {

/// Whether `append_value` can write values of a type, and those inside it.
bool is_writable(const arrow::DataType& type);
/// Appends a value as JSON.
void append_value(const arrow::Array& array, std::int64_t index, std::string& out);
void append_text(std::string_view text, std::string& out);

}  // namespace trainx::data::tables
