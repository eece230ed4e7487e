#pragma once
#include <map>
#include <string>
#include <vector>

namespace trainx::train {

/// From what evaluation summed to what is told. "correct" [1], predictions that hit their target:
/// accuracy. "confusion" [K, K], row the label, column the prediction: accuracy, and f1: of class 1
/// where K is 2, else the mean of the classes' (macro), a class that neither occurs nor is
/// predicted left out.
std::map<std::string, double> metrics_of(const std::map<std::string, std::vector<double>>& sums,
                                         double target_count);

/// Of a loss of the user's own: sum / count of each name, NaN where the count is 0.
std::map<std::string, double> own_metrics(const std::vector<std::string>& names,
                                          const std::vector<double>& sums_and_counts);

}  // namespace trainx::train
