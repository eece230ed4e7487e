#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace trainx {

/// A sample by names: fields of the model's graph, and what jsonl lines have (input_ids,
/// token_type_ids, labels, label). Shapes are flat.
class Sample {
 public:
  void put(std::string_view name, std::vector<double> values) {
    numbers_[std::string(name)] = std::move(values);
  }
  void put(std::string_view name, std::vector<std::int64_t> values) {
    integers_[std::string(name)] = std::move(values);
  }
  void put(std::string_view name, double value) { put(name, std::vector<double>{value}); }
  void put(std::string_view name, std::int64_t value) {
    put(name, std::vector<std::int64_t>{value});
  }

  const std::map<std::string, std::vector<double>>& numbers() const { return numbers_; }
  const std::map<std::string, std::vector<std::int64_t>>& integers() const { return integers_; }

 private:
  std::map<std::string, std::vector<double>> numbers_;
  std::map<std::string, std::vector<std::int64_t>> integers_;
};

}  // namespace trainx
