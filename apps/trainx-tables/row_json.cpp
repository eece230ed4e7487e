#include "row_json.hpp"
#include <charconv>
#include <cmath>
#include <cstdint>

namespace trainx::data::tables {
namespace {

template <class Number>
void append_number(Number value, std::string& out) {
  char digits[40];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

template <class Number>
void append_real(Number value, std::string& out) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  append_number(value, out);
}

/// Elements [begin, end) of a list's values.
void append_list(const arrow::Array& values, std::int64_t begin, std::int64_t end,
                 std::string& out) {
  out += '[';
  for (std::int64_t i = begin; i < end; ++i) {
    if (i > begin) out += ", ";
    append_value(values, i, out);
  }
  out += ']';
}

template <class List>
void append_list_of(const arrow::Array& array, std::int64_t index, std::string& out) {
  const auto& list = static_cast<const List&>(array);
  append_list(*list.values(), list.value_offset(index),
              list.value_offset(index) + list.value_length(index), out);
}

void append_struct(const arrow::StructArray& array, std::int64_t index, std::string& out) {
  out += '{';
  for (int f = 0; f < array.num_fields(); ++f) {
    if (f > 0) out += ", ";
    append_text(array.struct_type()->field(f)->name(), out);
    out += ": ";
    append_value(*array.field(f), index, out);  // which begins where the struct does
  }
  out += '}';
}

/// Text that is JSON (arrow.json), as datasets writes turns of different keys.
bool is_json(const arrow::DataType& type) {
  const auto& extension = static_cast<const arrow::ExtensionType&>(type);
  if (extension.extension_name() != "arrow.json") return false;
  switch (extension.storage_type()->id()) {
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW: return true;
    default: return false;
  }
}

void append_json(const arrow::Array& storage, std::int64_t index, std::string& out) {
  switch (storage.type_id()) {
    case arrow::Type::LARGE_STRING:
      out += static_cast<const arrow::LargeStringArray&>(storage).GetView(index);
      return;
    case arrow::Type::STRING_VIEW:
      out += static_cast<const arrow::StringViewArray&>(storage).GetView(index);
      return;
    default: out += static_cast<const arrow::StringArray&>(storage).GetView(index);
  }
}

}  // namespace

bool is_writable(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::NA:
    case arrow::Type::BOOL:
    case arrow::Type::INT8:
    case arrow::Type::INT16:
    case arrow::Type::INT32:
    case arrow::Type::INT64:
    case arrow::Type::UINT8:
    case arrow::Type::UINT16:
    case arrow::Type::UINT32:
    case arrow::Type::UINT64:
    case arrow::Type::FLOAT:
    case arrow::Type::DOUBLE:
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW: return true;
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST:
    case arrow::Type::STRUCT:
      for (const auto& field : type.fields())
        if (!is_writable(*field->type())) return false;
      return true;
    case arrow::Type::EXTENSION: return is_json(type);
    case arrow::Type::DICTIONARY:
      return is_writable(*static_cast<const arrow::DictionaryType&>(type).value_type());
    default: return false;
  }
}

void append_text(std::string_view text, std::string& out) {
  constexpr char digits[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (byte < 0x20)
      ((out += "\\u00") += digits[byte >> 4]) += digits[byte & 15];
    else
      out += c;
  }
  out += '"';
}

void append_value(const arrow::Array& array, std::int64_t index, std::string& out) {
  if (array.IsNull(index)) {
    out += "null";
    return;
  }
  const auto number = [&]<class Array>(const Array& of) { append_number(of.Value(index), out); };
  switch (array.type_id()) {
    case arrow::Type::BOOL:
      out += static_cast<const arrow::BooleanArray&>(array).Value(index) ? "true" : "false";
      return;
    case arrow::Type::INT8: return number(static_cast<const arrow::Int8Array&>(array));
    case arrow::Type::INT16: return number(static_cast<const arrow::Int16Array&>(array));
    case arrow::Type::INT32: return number(static_cast<const arrow::Int32Array&>(array));
    case arrow::Type::INT64: return number(static_cast<const arrow::Int64Array&>(array));
    case arrow::Type::UINT8: return number(static_cast<const arrow::UInt8Array&>(array));
    case arrow::Type::UINT16: return number(static_cast<const arrow::UInt16Array&>(array));
    case arrow::Type::UINT32: return number(static_cast<const arrow::UInt32Array&>(array));
    case arrow::Type::UINT64: return number(static_cast<const arrow::UInt64Array&>(array));
    case arrow::Type::FLOAT:
      return append_real(static_cast<const arrow::FloatArray&>(array).Value(index), out);
    case arrow::Type::DOUBLE:
      return append_real(static_cast<const arrow::DoubleArray&>(array).Value(index), out);
    case arrow::Type::STRING:
      return append_text(static_cast<const arrow::StringArray&>(array).GetView(index), out);
    case arrow::Type::LARGE_STRING:
      return append_text(static_cast<const arrow::LargeStringArray&>(array).GetView(index), out);
    case arrow::Type::STRING_VIEW:
      return append_text(static_cast<const arrow::StringViewArray&>(array).GetView(index), out);
    case arrow::Type::LIST: return append_list_of<arrow::ListArray>(array, index, out);
    case arrow::Type::LARGE_LIST: return append_list_of<arrow::LargeListArray>(array, index, out);
    case arrow::Type::FIXED_SIZE_LIST:
      return append_list_of<arrow::FixedSizeListArray>(array, index, out);
    case arrow::Type::STRUCT:
      return append_struct(static_cast<const arrow::StructArray&>(array), index, out);
    case arrow::Type::DICTIONARY: {
      const auto& coded = static_cast<const arrow::DictionaryArray&>(array);
      return append_value(*coded.dictionary(), coded.GetValueIndex(index), out);
    }
    case arrow::Type::EXTENSION: {
      const auto& json = static_cast<const arrow::ExtensionArray&>(array);
      return append_json(*json.storage(), index, out);
    }
    default: out += "null";  // is_writable has said no
  }
}

}  // namespace trainx::data::tables
