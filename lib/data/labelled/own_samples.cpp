#include "data/labelled/own_samples.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

namespace trainx::data::labelled {
namespace {

/// The values by that name; null: none.
template <class T>
const std::vector<T>* find(const std::map<std::string, std::vector<T>>& all,
                           std::string_view name) {
  const auto found = all.find(std::string(name));
  return found == all.end() ? nullptr : &found->second;
}

class OwnSamples final : public SampleReader {
 public:
  OwnSamples(std::shared_ptr<const DataSource> source, std::string name,
             std::vector<FieldSpec> fields, bool real_labels)
      : source_(std::move(source)),
        name_(std::move(name)),
        fields_(std::move(fields)),
        real_labels_(real_labels),
        samples_(source_->length()) {}

  std::int64_t samples() const override { return samples_; }
  std::int64_t vocab_size() const override { return source_->vocab_size(); }
  // reading each may take long
  bool may_look_through() const override { return false; }
  LinePlace place(std::int64_t index) const override { return {name_, index}; }

  void read(std::int64_t index, Line& out) const override {
    Sample sample;
    try {
      source_->read(index, sample);
    } catch (const std::exception& e) { place(index).refuse(e.what()); }
    for (const FieldSpec& spec : fields_) take(sample, spec, out.own.emplace_back(), index);
    for (std::size_t f = 0; f < field_names.size(); ++f) take(sample, f, out, index);
  }

 private:
  void take(const Sample& sample, const FieldSpec& spec, OwnField& field,
            std::int64_t index) const {
    const auto* numbers = find(sample.numbers(), spec.name);
    const auto* integers = find(sample.integers(), spec.name);
    if (!numbers && !integers) return;  // told by the rules of a line
    field.given = true;
    const std::size_t count = numbers ? numbers->size() : integers->size();
    if (static_cast<std::int64_t>(count) != spec.elements())
      place(index).refuse(spec.name + " has " + std::to_string(count) +
                          " numbers, and the model reads " + std::to_string(spec.elements()));
    if (spec.dtype == DType::i64) {
      if (numbers)
        place(index).refuse(spec.name + " has real numbers, and the model reads integers");
      field.integers = *integers;
    } else if (numbers) {
      field.numbers = *numbers;
    } else {
      field.numbers.assign(integers->begin(), integers->end());
    }
    for (const double x : field.numbers)
      if (!(std::abs(x) <= std::numeric_limits<float>::max()))
        place(index).refuse(spec.name + " has a number that fp32 does not hold");
  }

  /// What lines of trainx have.
  void take(const Sample& sample, std::size_t f, Line& out, std::int64_t index) const {
    const auto* numbers = find(sample.numbers(), field_names[f]);
    const auto* integers = find(sample.integers(), field_names[f]);
    if (!numbers && !integers) return;
    const auto name = static_cast<FieldName>(f);
    Field& field = out[name];
    field.given = true;
    if (real_labels_ && (name == FieldName::labels || name == FieldName::label)) {
      if (numbers)
        out.numbers = *numbers;
      else
        out.numbers.assign(integers->begin(), integers->end());
      return;
    }
    if (numbers)
      place(index).refuse(std::string(field_names[f]) + " has real numbers, not integers");
    if (name == FieldName::label && integers->size() != 1)
      place(index).refuse("label has " + std::to_string(integers->size()) + " numbers, not one");
    field.values = *integers;
  }

  std::shared_ptr<const DataSource> source_;
  std::string name_;
  std::vector<FieldSpec> fields_;
  bool real_labels_;
  std::int64_t samples_;
};

}  // namespace

std::unique_ptr<SampleReader> make_own_samples(std::shared_ptr<const DataSource> source,
                                               std::string name, std::vector<FieldSpec> fields,
                                               bool real_labels) {
  return std::make_unique<OwnSamples>(std::move(source), std::move(name), std::move(fields),
                                      real_labels);
}

}  // namespace trainx::data::labelled
