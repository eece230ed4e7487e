#include "data/labelled/json_line.hpp"
#include "data/labelled/own_field.hpp"
#include "data/labelled/unread_field.hpp"
#include "data/labelled/whole_number.hpp"
#include <nlohmann/json.hpp>
#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace trainx::data::labelled {
namespace {

using nlohmann::json;

// Events instead of a document: the parser is iterative, whatever the depth, and a document keeps
// the last of two equal keys without a word.
class LineEvents : public nlohmann::json_sax<json> {
 public:
  LineEvents(const WantedFields& wanted, bool real_labels, const std::vector<FieldSpec>& own,
             const LinePlace& place, Line& out)
      : wanted_(wanted), real_labels_(real_labels), place_(place), out_(out), own_(own) {
    out.own.resize(own.size());
  }

  bool null() override {
    if (depth_ == 1 && field_) {
      out_[*field_].given = false;
      return true;
    }
    if (depth_ == 1) unread_.clear();  // as good as no field
    return other("null");
  }
  bool boolean(bool value) override {
    if (field_ && is_target_mask(*field_) && depth_ == 2) return number(value ? 1 : 0);
    return other("a truth value");
  }
  bool string(string_t&) override { return other("text"); }
  bool binary(binary_t&) override { return other("binary data"); }
  bool number_float(number_float_t x, const string_t&) override {
    if (own_field_) return own_field_->number(x), true;
    if (takes_number()) return real_number(x);
    // pandas writes classes so where a column once had gaps
    if (field_ == FieldName::label && depth_ == 1)
      if (const auto whole = whole_number(x)) return number(*whole);
    return other("a number that is no integer");
  }
  bool number_integer(number_integer_t n) override { return number(n); }
  bool number_unsigned(number_unsigned_t n) override {
    if (n > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max()))
      return other("an integer beyond 64 bits");
    return number(static_cast<number_integer_t>(n));
  }

  bool start_object(std::size_t) override { return depth_ == 0 ? open() : nested("an object"); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override {
    if (own_field_) return own_field_->open(), open();
    if (depth_ == 1 && field_ && (*field_ != FieldName::label || real_labels_)) return open();
    if (depth_ == 1 && unread_ == "label" && wants(FieldName::labels))
      refuse_near_miss(unread_, FieldName::labels, place_);
    return nested("a list");
  }
  bool end_array() override {
    if (own_field_) own_field_->close();
    return close();
  }

  bool key(string_t& text) override {
    if (depth_ != 1) return true;
    if (!keys_.insert(text).second)
      place_.refuse("a key is given twice in the object" +
                    (known(text) ? ": \"" + text + "\"" : ""));
    own_field_.reset();
    field_.reset();
    unread_.clear();
    const auto own = std::ranges::find(own_, text, &FieldSpec::name);
    if (own != own_.end()) {
      own_field_.emplace(*own, out_.own[static_cast<std::size_t>(own - own_.begin())], place_);
      return true;
    }
    field_ = known(text);
    if (field_ && !wanted_[static_cast<std::size_t>(*field_)]) field_.reset();
    if (field_) out_[*field_].given = true;
    unread_ = field_ ? "" : text;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    place_.refuse("has malformed JSON at byte " + std::to_string(position) + " of the " +
                  place_.unit() + ": correct it, or remove the " + place_.unit());
  }

 private:
  static std::optional<FieldName> known(std::string_view key) {
    const auto found = std::ranges::find(field_names, key);
    if (found == field_names.end()) return std::nullopt;
    return static_cast<FieldName>(found - field_names.begin());
  }

  bool wants(FieldName name) const { return wanted_[static_cast<std::size_t>(name)]; }

  /// A field that has a value, and is none of those that are read.
  void leave_out() {
    const std::string name = std::exchange(unread_, "");
    if (name.empty() || known(name) || !(wants(FieldName::labels) || wants(FieldName::label)))
      return;
    if (!remedy_of_unread(name).empty()) refuse_unread(name, place_);
    if (const auto meant = near_miss(name, wanted_)) near_misses_.emplace_back(name, *meant);
  }

  bool takes_number() const {
    return real_labels_ && (field_ == FieldName::label || field_ == FieldName::labels) &&
           depth_ <= 2;
  }
  bool real_number(double x) {
    out_.numbers.push_back(x);
    return true;
  }

  bool number(std::int64_t n) {
    if (own_field_) return own_field_->integer(n), true;
    if (takes_number()) return real_number(static_cast<double>(n));
    const bool in_place = field_ && depth_ == (*field_ == FieldName::label ? 1 : 2);
    if (!in_place) return other("a number");
    out_[*field_].values.push_back(n);
    return true;
  }

  /// A value that is not what its field takes; of other columns it may be anything.
  bool other(const std::string& what) {
    if (depth_ == 0)
      place_.refuse("holds " + what + " where an object {\"" +
                    (own_.empty() ? std::string("input_ids") : own_.front().name) +
                    "\": [...]} is expected");
    if (own_field_) own_field_->refuse("is or holds " + what + ", not numbers alone");
    if (depth_ == 1) leave_out();
    if (!field_) return true;
    const std::string name(field_names[static_cast<std::size_t>(*field_)]);
    if (real_labels_ && (field_ == FieldName::label || field_ == FieldName::labels))
      place_.refuse(name + " is or holds " + what + ", not numbers alone");
    if (depth_ > 1)
      place_.refuse(name + "[" + std::to_string(out_[*field_].values.size()) + "] is " + what +
                    ", not an integer");
    place_.refuse(name + " is " + what +
                  (*field_ == FieldName::label ? ", not an integer" : ", not a list of integers"));
  }

  bool nested(const std::string& what) { return other(what) && open(); }
  bool open() {
    constexpr int deepest = 100;
    if (++depth_ > deepest)
      place_.refuse("nests deeper than " + std::to_string(deepest) +
                    " levels: no data of this kind does");
    return true;
  }
  bool close() {
    if (--depth_ == 1) {
      field_.reset();
      own_field_.reset();
    }
    if (depth_ == 0)
      for (const auto& [name, meant] : near_misses_)
        if (!out_[meant].given) refuse_near_miss(name, meant, place_);
    return true;
  }

  const WantedFields& wanted_;
  bool real_labels_;
  const LinePlace& place_;
  Line& out_;
  int depth_ = 0;                   // 1: in the object, 2: in the list of a field
  std::optional<FieldName> field_;  // whose value is read
  std::set<std::string, std::less<>> keys_;
  const std::vector<FieldSpec>& own_;
  std::optional<OwnFieldReader> own_field_;  // whose value is read
  std::string unread_;                       // whose value comes, where it is not read
  std::vector<std::pair<std::string, FieldName>> near_misses_;
};

class JsonParser final : public LineParser {
 public:
  JsonParser(const WantedFields& wanted, bool real_labels, std::vector<FieldSpec> own)
      : wanted_(wanted), real_labels_(real_labels), own_(std::move(own)) {}
  void parse(std::string_view text, const LinePlace& place, Line& out) const override {
    place.check_size(text);
    LineEvents events(wanted_, real_labels_, own_, place, out);
    json::sax_parse(text.begin(), text.end(), &events);
  }

 private:
  WantedFields wanted_;
  bool real_labels_;
  std::vector<FieldSpec> own_;
};

}  // namespace

std::unique_ptr<LineParser> make_json_parser(const WantedFields& wanted, bool real_labels,
                                             std::vector<FieldSpec> own) {
  return std::make_unique<JsonParser>(wanted, real_labels, std::move(own));
}

}  // namespace trainx::data::labelled
