#include "train/eval_metrics.hpp"
#include <cmath>

namespace trainx::train {
namespace {

void add_confusion(const std::vector<double>& confusion, std::map<std::string, double>& out) {
  const auto classes =
      static_cast<std::size_t>(std::llround(std::sqrt(static_cast<double>(confusion.size()))));
  double all = 0, correct = 0, f1_sum = 0, f1_classes = 0;
  for (std::size_t k = 0; k < classes; ++k) {
    double labelled = 0, predicted = 0;
    for (std::size_t j = 0; j < classes; ++j) {
      labelled += confusion[k * classes + j];
      predicted += confusion[j * classes + k];
    }
    const double hits = confusion[k * classes + k];
    all += labelled;
    correct += hits;
    if (classes == 2 && k == 0) continue;
    if (labelled + predicted > 0 || classes == 2) {
      f1_sum += labelled + predicted > 0 ? 2 * hits / (labelled + predicted) : 0;
      ++f1_classes;
    }
  }
  out["accuracy"] = correct / all;
  out["f1"] = f1_sum / f1_classes;
}

}  // namespace

std::map<std::string, double> metrics_of(const std::map<std::string, std::vector<double>>& sums,
                                         double target_count) {
  std::map<std::string, double> out;
  if (const auto correct = sums.find("correct"); correct != sums.end())
    out["accuracy"] = correct->second.at(0) / target_count;
  if (const auto confusion = sums.find("confusion"); confusion != sums.end())
    add_confusion(confusion->second, out);
  return out;
}

std::map<std::string, double> own_metrics(const std::vector<std::string>& names,
                                          const std::vector<double>& sums_and_counts) {
  std::map<std::string, double> out;
  for (std::size_t k = 0; k < names.size(); ++k)
    out[names[k]] = sums_and_counts.at(2 * k) / sums_and_counts.at(2 * k + 1);
  return out;
}

}  // namespace trainx::train
