#pragma once
#include "metrics/appended_file.hpp"
#include <nlohmann/json_fwd.hpp>
#include <cstdint>

namespace trainx::metrics {

/// The bytes of one record of a TensorBoard file, with its length and checksums (TFRecord:
/// tensorflow/core/lib/io/record_writer.h).
std::string event_record(std::string_view event);
/// CRC-32C (Castagnoli, RFC 3720 appendix B.4).
std::uint32_t crc32c(std::string_view bytes);

/// Scalars for TensorBoard: an events file in `folder`, one for each time that the run begins or
/// goes on; TensorBoard drops what earlier ones say of later steps.
class EventFile {
 public:
  /// After `resumed_step`. Throws UserError 74.
  EventFile(const std::string& folder, std::int64_t resumed_step);
  /// A line of metrics.jsonl: every number in it but `step` and `unix_time_s`, as train/loss or
  /// eval/loss.
  void append(const nlohmann::ordered_json& object);
  void put_back_if_gone() { file_.put_back_if_gone(); }
  const std::string& problem() const { return file_.problem(); }

 private:
  AppendedFile file_;
};

}  // namespace trainx::metrics
