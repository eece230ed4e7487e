#include "checkpoint/safetensors_header.hpp"
#include "checkpoint/safetensors_dtype.hpp"
#include "core/error.hpp"
#include <nlohmann/json.hpp>
#include <algorithm>
#include <limits>
#include <set>

namespace trainx::checkpoint {
namespace {

using nlohmann::json;

// Beyond what any model has: a file of them would take minutes and gigabytes.
constexpr std::int64_t longest_name = 4096, most_tensors = 200'000;
// Blanks behind the header, which align what follows.
constexpr std::size_t most_padding = std::size_t{1} << 16;

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw UserError(ExitCode::bad_data, path + ": " + what);
}

// Hands the header's characters to the JSON parser and counts them, so that a problem has a place.
struct CountingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  const char* at = nullptr;
  std::int64_t* count = nullptr;
  reference operator*() const { return *at; }
  CountingIterator& operator++() {
    ++at;
    ++*count;
    return *this;
  }
  bool operator==(const CountingIterator& o) const { return at == o.at; }
  bool operator!=(const CountingIterator& o) const { return at != o.at; }
};

// {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ..., "__metadata__": {"key":
// "text"}} Events instead of a document: a document of the JSON library keeps the last of two equal
// keys without a word.
class HeaderEvents : public nlohmann::json_sax<json> {
 public:
  HeaderEvents(const std::string& path, std::int64_t file_offset)
      : path_(path), file_offset_(file_offset) {}
  std::int64_t consumed = 0;
  SafetensorsHeader header;

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a truth value"); }
  bool number_integer(number_integer_t) override { return unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t& text) override {
    return unexpected("the number " + text.substr(0, 40));
  }
  bool binary(binary_t&) override { return unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t n) override {
    if (where_ != Where::shape && where_ != Where::offsets)
      return unexpected("the number " + std::to_string(n));
    if (n > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max()))
      return unexpected("the number " + std::to_string(n));
    numbers_.push_back(static_cast<std::int64_t>(n));
    return true;
  }

  bool string(string_t& text) override {
    if (where_ == Where::metadata) {
      header.metadata[key_] = text;
      return true;
    }
    if (where_ != Where::tensor || key_ != "dtype")
      return unexpected("the text " + in_quotes(text));
    const auto dtype = safetensors_dtype(text);
    tensor_.unread = dtype ? nullptr : unread_type(text);
    if (!dtype && !tensor_.unread)
      problem("tensor " + in_quotes(name_) + " has dtype " + in_quotes(text) +
              ", which trainx does not read (it reads " + safetensors_dtype_names() + ")");
    tensor_.dtype = dtype.value_or(DType::u8);
    return true;
  }

  bool start_object(std::size_t) override {
    if (where_ == Where::outside) {
      where_ = Where::top;
    } else if (where_ == Where::top && key_ == "__metadata__") {
      where_ = Where::metadata;
      keys_.clear();
    } else if (where_ == Where::top) {
      where_ = Where::tensor;
      keys_.clear();
      tensor_ = {};
    } else {
      return unexpected("an object");
    }
    return true;
  }

  bool key(string_t& text) override {
    key_ = text;
    if (where_ == Where::top) {
      if (std::ssize(text) > longest_name)
        problem("a tensor's name has " + std::to_string(text.size()) + " bytes, more than " +
                std::to_string(longest_name));
      if (std::ssize(names_) > most_tensors)
        problem("the file has more than " + std::to_string(most_tensors) + " tensors");
      if (!names_.insert(text).second)
        problem((text == "__metadata__" ? text + " is" : "tensor " + in_quotes(text) + " is") +
                " described twice");
      name_ = text;
    } else {
      if (!keys_.insert(text).second)
        problem(in_quotes(text) + " is given twice for " + in_quotes(name_));
      if (where_ == Where::tensor && text != "dtype" && text != "shape" && text != "data_offsets")
        problem("tensor " + in_quotes(name_) + " has " + in_quotes(text) +
                ", which the format does not know");
    }
    return true;
  }

  bool end_object() override {
    if (where_ == Where::tensor) {
      for (const char* needed : {"dtype", "shape", "data_offsets"})
        if (!keys_.count(needed)) problem("tensor " + in_quotes(name_) + " has no " + needed);
      header.tensors[name_] = tensor_;
      where_ = Where::top;
    } else {
      where_ = where_ == Where::metadata ? Where::top : Where::outside;
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (where_ != Where::tensor || key_ == "dtype") return unexpected("a list");
    where_ = key_ == "shape" ? Where::shape : Where::offsets;
    numbers_.clear();
    return true;
  }

  bool end_array() override {
    if (where_ == Where::shape) {
      tensor_.dims = numbers_;
    } else {
      if (numbers_.size() != 2)
        problem("tensor " + in_quotes(name_) + " has " + std::to_string(numbers_.size()) +
                " data_offsets instead of 2");
      tensor_.begin = numbers_[0];
      tensor_.end = numbers_[1];
    }
    where_ = Where::tensor;
    return true;
  }

  bool parse_error(std::size_t, const std::string& token, const json::exception&) override {
    problem("the header is not JSON" + (token.empty() ? "" : " at " + in_quotes(token)));
  }

 private:
  enum class Where { outside, top, metadata, tensor, shape, offsets };

  [[noreturn]] void problem(const std::string& what) const {
    refuse(path_, what + " (near byte " +
                      std::to_string(file_offset_ + std::max<std::int64_t>(0, consumed - 1)) + ")");
  }
  bool unexpected(const std::string& what) const {
    if (where_ == Where::outside) problem("the header is not a JSON object");
    problem(what + " where " + expected());
  }
  std::string expected() const {
    switch (where_) {
      case Where::top:
        return key_ == "__metadata__"
                   ? "the metadata belongs"
                   : "the description of tensor " + in_quotes(name_) + " belongs";
      case Where::metadata: return "the metadata " + in_quotes(key_) + " must be a text";
      case Where::tensor: return in_quotes(key_) + " of tensor " + in_quotes(name_) + " belongs";
      case Where::shape: return "a size of tensor " + in_quotes(name_) + " belongs";
      case Where::offsets: return "a data offset of tensor " + in_quotes(name_) + " belongs";
      case Where::outside: break;
    }
    return "nothing is expected";
  }

  const std::string& path_;
  std::int64_t file_offset_;
  Where where_ = Where::outside;
  std::string key_, name_;
  SafetensorsHeader::Tensor tensor_;
  std::vector<std::int64_t> numbers_;
  std::set<std::string> names_, keys_;
};

// Bytes of a tensor by its dtype and shape; negative where they do not fit 64 bits.
std::int64_t bytes_of(const SafetensorsHeader::Tensor& t) {
  std::int64_t bits = t.unread ? t.unread->bits : 8 * size_of(t.dtype);
  bool overflow = false;
  for (const std::int64_t d : t.dims) {
    if (d == 0) return 0;
    overflow = overflow || __builtin_mul_overflow(bits, d, &bits);
  }
  return overflow ? -1 : bits / 8 + (bits % 8 != 0);
}

// The data is cut into tensors without a hole or an overlap.
void check_offsets(const SafetensorsHeader& header, const std::string& path,
                   std::int64_t data_start, std::int64_t data_bytes) {
  std::vector<std::pair<const std::string*, const SafetensorsHeader::Tensor*>> in_order;
  for (const auto& [name, tensor] : header.tensors) in_order.emplace_back(&name, &tensor);
  std::stable_sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->begin, a.second->end) < std::pair(b.second->begin, b.second->end);
  });
  std::int64_t at = 0;
  for (const auto& [name, tensor] : in_order) {
    const std::int64_t bytes = bytes_of(*tensor);
    const bool fits = bytes >= 0 && tensor->end - tensor->begin == bytes && tensor->begin == at &&
                      tensor->end <= data_bytes;
    at = fits ? tensor->end : at;
    if (fits) continue;
    const std::string which = "tensor " + in_quotes(*name);
    const std::string place = " (data at byte " + std::to_string(data_start) + " + " +
                              std::to_string(tensor->begin) + ")";
    if (bytes < 0) refuse(path, which + " has a shape of more elements than fit any file" + place);
    if (tensor->end < tensor->begin)
      refuse(path,
             which + " ends at " + std::to_string(tensor->end) + ", before it begins" + place);
    if (tensor->end - tensor->begin != bytes)
      refuse(path, which + " takes " + std::to_string(bytes) +
                       " bytes by its dtype and shape, its data_offsets give it " +
                       std::to_string(tensor->end - tensor->begin) + place);
    if (tensor->begin < at)
      refuse(path,
             which + " overlaps the one before it, which ends at " + std::to_string(at) + place);
    if (tensor->begin > at)
      refuse(path, std::to_string(tensor->begin - at) + " bytes before " + which +
                       " belong to no tensor" + place);
    refuse(path, "the file is truncated: " + which + " ends at " + std::to_string(tensor->end) +
                     " of only " + std::to_string(data_bytes) + " bytes of data" + place);
  }
  if (at != data_bytes)
    refuse(path, std::to_string(data_bytes - at) +
                     " bytes after the last tensor belong to none (from byte " +
                     std::to_string(data_start + at) + ")");
}

}  // namespace

std::string in_quotes(const std::string& name) {
  constexpr std::size_t longest = 120;
  const std::string text = json(name).dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() <= longest ? text : text.substr(0, longest) + "...\"";
}

SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& path,
                                           std::int64_t file_offset, std::int64_t data_bytes) {
  if (text.empty() || text.front() != '{')
    refuse(path, "the header does not begin with '{' (byte " + std::to_string(file_offset) +
                     "): this is no safetensors file");
  HeaderEvents events(path, file_offset);
  json::sax_parse(CountingIterator{text.data(), &events.consumed},
                  CountingIterator{text.data() + text.size(), &events.consumed}, &events);
  // The parser takes a NUL for the text's end.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos)
    refuse(path, "the header goes on behind a NUL (byte " +
                     std::to_string(file_offset + static_cast<std::int64_t>(nul)) + ")");
  if (const std::size_t end = text.find_last_not_of(' ') + 1; text.size() - end > most_padding)
    refuse(path,
           std::to_string(text.size() - end) + " blanks follow the header, more than any padding");
  check_offsets(events.header, path, file_offset + static_cast<std::int64_t>(text.size()),
                data_bytes);
  return std::move(events.header);
}

}  // namespace trainx::checkpoint
