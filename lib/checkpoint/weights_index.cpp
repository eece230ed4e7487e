#include "checkpoint/weights_index.hpp"
#include "checkpoint/safetensors_header.hpp"
#include "core/error.hpp"
#include <nlohmann/json.hpp>
#include <set>
#include <cstdio>

namespace trainx::checkpoint {
namespace {

using nlohmann::json;

// A file beside the index. A name with a folder in it, or "..", would read what the index has no
// business with.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

// Events instead of a document: the depth is bounded by what is expected, and a key given twice is
// seen.
class IndexEvents : public nlohmann::json_sax<json> {
 public:
  explicit IndexEvents(const std::string& path) : path_(path) {}
  WeightMap files;

  bool null() override { return scalar("null"); }
  bool boolean(bool) override { return scalar("a truth value"); }
  bool number_integer(number_integer_t) override { return scalar("a number"); }
  bool number_unsigned(number_unsigned_t) override { return scalar("a number"); }
  bool number_float(number_float_t, const string_t&) override { return scalar("a number"); }
  bool binary(binary_t&) override { return scalar("binary data"); }

  bool string(string_t& text) override {
    if (where_ != Where::weight_map) return scalar("a text");
    if (!is_plain_name(text))
      refuse("tensor " + in_quotes(key_) + " is said to be in " + in_quotes(text) +
             "; shards lie beside the index, named without a folder");
    files[key_] = text;
    return true;
  }

  bool start_object(std::size_t) override {
    if (where_ == Where::outside)
      where_ = Where::top;
    else if (where_ == Where::top && key_ == "metadata")
      where_ = Where::metadata;
    else if (where_ == Where::top && key_ == "weight_map")
      where_ = Where::weight_map;
    else
      refuse("an object where " + expected());
    if (where_ != Where::top) keys_.clear();
    return true;
  }
  bool start_array(std::size_t) override { refuse("a list where " + expected()); }
  bool end_array() override { return true; }
  bool end_object() override {
    if (where_ == Where::top) {
      if (!sections_.count("weight_map")) refuse("there is no \"weight_map\"");
      where_ = Where::outside;
    } else {
      where_ = Where::top;
    }
    return true;
  }

  bool key(string_t& text) override {
    key_ = text;
    if (!(where_ == Where::top ? sections_ : keys_).insert(text).second)
      refuse((where_ == Where::weight_map ? "tensor " : "") + in_quotes(text) + " is given twice");
    return true;
  }

  bool parse_error(std::size_t byte, const std::string& token, const json::exception&) override {
    refuse("not JSON at byte " + std::to_string(byte) +
           (token.empty() ? "" : ", " + in_quotes(token)));
  }

 private:
  enum class Where { outside, top, metadata, weight_map };

  [[noreturn]] void refuse(const std::string& what) const {
    throw UserError(ExitCode::bad_data, path_ + ": " + what);
  }
  bool scalar(const char* what) const {
    if (where_ == Where::metadata) return true;  // sizes and notes; nothing depends on them
    refuse(std::string(what) + " where " + expected());
  }
  std::string expected() const {
    switch (where_) {
      case Where::outside: return "an object with \"weight_map\" belongs";
      case Where::top:
        return key_ == "metadata" || key_ == "weight_map"
                   ? in_quotes(key_) + " must be an object"
                   : "only \"metadata\" and \"weight_map\" belong, not " + in_quotes(key_);
      case Where::metadata: return "a plain value of " + in_quotes(key_) + " belongs";
      case Where::weight_map: break;
    }
    return "the file of tensor " + in_quotes(key_) + " belongs";
  }

  const std::string& path_;
  Where where_ = Where::outside;
  std::string key_;
  std::set<std::string> sections_, keys_;
};

}  // namespace

WeightMap parse_weights_index(std::string_view text, const std::string& path) {
  IndexEvents events(path);
  json::sax_parse(text.begin(), text.end(), &events);
  return std::move(events.files);
}

std::string weights_index_text(const WeightMap& files, std::int64_t total_bytes) {
  nlohmann::ordered_json index;
  index["metadata"]["total_size"] = total_bytes;
  index["weight_map"] = files;
  return index.dump(2) + "\n";
}

std::string single_file_name(const std::string& stem) { return stem + ".safetensors"; }
std::string index_name(const std::string& stem) { return single_file_name(stem) + ".index.json"; }

// As transformers names shards.
std::string shard_name(const std::string& stem, std::size_t number, std::size_t count) {
  if (count == 1) return single_file_name(stem);
  char of[32];
  std::snprintf(of, sizeof of, "-%05zu-of-%05zu", number, count);
  return stem + of + ".safetensors";
}

}  // namespace trainx::checkpoint
