#include "data/labelled/own_field.hpp"
#include "core/error.hpp"
#include <cmath>
#include <cstring>
#include <limits>

namespace trainx::data::labelled {
namespace {

std::string shape_of(const FieldSpec& spec) {
  std::string text;
  for (const std::int64_t d : spec.dims) text += (text.empty() ? "" : ", ") + std::to_string(d);
  return "[" + text + "]";
}

}  // namespace

void OwnFieldReader::refuse(const std::string& what) const {
  place_.refuse(spec_.name + " " + what);
}

void OwnFieldReader::count() {
  const std::size_t depth = counts_.size();
  if (spec_.dims.empty() && depth > 0) refuse("is a list, and the model reads a number");
  if (!spec_.dims.empty() && depth == 0)
    refuse("is a number, and the model reads a list of " + std::to_string(spec_.elements()));
  if (depth > 1 && depth != spec_.dims.size())
    refuse("nests lists " + std::to_string(depth) + " deep, and its shape is " + shape_of(spec_));
  if (number_depth_.value_or(depth) != depth) refuse("has numbers and lists in one list");
  number_depth_ = depth;
  if (depth > 0) ++counts_.back();
  out_.given = true;
}

void OwnFieldReader::number(double x) {
  if (spec_.dtype == DType::i64) refuse("holds a number that is no integer");
  if (!(std::abs(x) <= std::numeric_limits<float>::max()))
    refuse("has a number that fp32 does not hold");
  count();
  out_.numbers.push_back(x);
}

void OwnFieldReader::integer(std::int64_t n) {
  if (spec_.dtype != DType::i64) return number(static_cast<double>(n));
  count();
  out_.integers.push_back(n);
}

void OwnFieldReader::open() {
  if (!counts_.empty()) ++counts_.back();
  if (counts_.size() == spec_.dims.size())
    refuse(spec_.dims.empty() ? "is a list, and the model reads a number"
                              : "nests lists deeper than its shape " + shape_of(spec_));
  counts_.push_back(0);
  out_.given = true;
}

void OwnFieldReader::close() {
  const std::size_t depth = counts_.size();
  const bool flat = depth == 1 && number_depth_.value_or(1) == 1;
  const std::int64_t wanted = flat ? spec_.elements() : spec_.dims[depth - 1];
  if (counts_.back() != wanted)
    refuse("has " + std::to_string(counts_.back()) + " entries, and the model reads " +
           std::to_string(wanted) + " (shape " + shape_of(spec_) + ")");
  counts_.pop_back();
}

void check_own_fields(const std::vector<FieldSpec>& fields, const Line& line,
                      const LinePlace& place) {
  for (std::size_t f = 0; f < fields.size(); ++f)
    if (!line.own[f].given) place.refuse("has no " + fields[f].name + ", which the model reads");
}

void fill_own_fields(const std::vector<FieldSpec>& fields, const Line& line,
                     const std::vector<std::span<std::byte>>& out) {
  if (fields.size() != out.size()) throw InternalError("own fields: another count than asked for");
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const OwnField& from = line.own[f];
    if (fields[f].dtype == DType::i64) {
      std::memcpy(out[f].data(), from.integers.data(), out[f].size());
      continue;
    }
    const std::vector<float> numbers(from.numbers.begin(), from.numbers.end());
    std::memcpy(out[f].data(), numbers.data(), out[f].size());
  }
}

}  // namespace trainx::data::labelled
