#pragma once
#include "data/labelled/line.hpp"
#include "data/source.hpp"

namespace trainx::data::labelled {

/// Where labelled samples come from: lines of a file, records of a source of the user's own.
/// Thread-safe.
class SampleReader {
 public:
  virtual ~SampleReader() = default;
  virtual std::int64_t samples() const = 0;
  virtual std::int64_t vocab_size() const { return 0; }
  virtual std::vector<DataFile> files() const { return {}; }
  /// Whether all samples may be read before training.
  virtual bool may_look_through() const { return true; }
  virtual LinePlace place(std::int64_t index) const = 0;
  /// `out` comes in cleared. Throws UserError 65.
  virtual void read(std::int64_t index, Line& out) const = 0;
};

}  // namespace trainx::data::labelled
