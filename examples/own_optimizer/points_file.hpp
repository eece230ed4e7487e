// A data source that reads points from a file of float64 numbers, five a sample.
#pragma once
#include <trainx/data_source.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct PointsOptions {
  std::string folder;  // required
};
template <class Visitor>
void visit_fields(Visitor& field, PointsOptions& o) {
  field("folder", o.folder, trainx::anything(), "Folder of train.bin and eval.bin");
}

class PointsFile : public trainx::DataSource {
 public:
  explicit PointsFile(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error(path + " cannot be read");
    numbers_.resize(std::filesystem::file_size(path) / sizeof(double));
    const auto bytes = static_cast<std::streamsize>(numbers_.size() * sizeof(double));
    if (!file.read(reinterpret_cast<char*>(numbers_.data()), bytes))
      throw std::runtime_error(path + " ended early");
  }
  std::int64_t length() const override { return static_cast<std::int64_t>(numbers_.size() / 5); }
  void read(std::int64_t position, trainx::Sample& sample) const override {
    const double* const at = &numbers_[static_cast<std::size_t>(5 * position)];
    sample.put("point", std::vector<double>(at, at + 4));
    sample.put("z", at[4]);
  }

 private:
  std::vector<double> numbers_;
};

inline std::unique_ptr<trainx::DataSource> open_points(const PointsOptions& o,
                                                       trainx::DataSplit split) {
  const bool trains = split == trainx::DataSplit::train;
  const std::string path = o.folder + (trains ? "/train.bin" : "/eval.bin");
  if (!trains && !std::filesystem::exists(path)) return nullptr;
  return std::make_unique<PointsFile>(path);
}
