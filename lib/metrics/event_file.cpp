#include "metrics/event_file.hpp"
#include "core/files.hpp"
#include "core/process.hpp"
#include <unistd.h>
#include <array>
#include <bit>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace trainx::metrics {
namespace {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// A free name, as TensorBoard looks for them.
std::string path_in(const std::string& folder) {
  make_folders(folder);
  const std::string stem = folder + "/events.out.tfevents." +
                           std::to_string(static_cast<std::int64_t>(now_seconds())) + "." +
                           host_name() + "." + std::to_string(::getpid());
  std::string path = stem + ".0";
  for (int k = 1; std::filesystem::exists(path); ++k) path = stem + "." + std::to_string(k);
  return path;
}

template <class T>
std::string little_endian(T value) {
  std::string bytes(sizeof value, '\0');
  for (std::size_t i = 0; i < sizeof value; ++i) bytes[i] = static_cast<char>(value >> 8 * i);
  return bytes;
}

/// Protocol buffers' wire format (protobuf.dev, "Encoding"): fields of the messages Event, Summary
/// and SessionLog of tensorboard/compat/proto/event.proto.
class Message {
 public:
  Message& whole(int field, std::uint64_t value) {
    key(field, 0);
    number(value);
    return *this;
  }
  Message& real(int field, double value) {
    return fixed(field, 1, std::bit_cast<std::uint64_t>(value));
  }
  Message& real(int field, float value) {
    return fixed(field, 5, std::bit_cast<std::uint32_t>(value));
  }
  Message& text(int field, std::string_view value) {
    key(field, 2);
    number(value.size());
    bytes_ += value;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void key(int field, unsigned wire_type) {
    number(static_cast<std::uint64_t>(field) << 3 | wire_type);
  }
  template <class Bits>
  Message& fixed(int field, unsigned wire_type, Bits bits) {
    key(field, wire_type);
    bytes_ += little_endian(bits);
    return *this;
  }
  void number(std::uint64_t n) {
    for (; n >= 0x80; n >>= 7) bytes_ += static_cast<char>(n | 0x80);
    bytes_ += static_cast<char>(n);
  }
  std::string bytes_;
};

Message event(std::int64_t step) {
  return Message().real(1, now_seconds()).whole(2, static_cast<std::uint64_t>(step));
}

constexpr int file_version = 3, summary = 5, session_log = 7;  // fields of Event
// SessionLog.status: what was said of this step and later ones no longer holds
constexpr std::uint64_t start = 1;

std::string tag_of(const std::string& key) {
  return key.starts_with("eval_") ? "eval/" + key.substr(5) : "train/" + key;
}

std::uint32_t masked(std::uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8u; }

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> t{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      t[i] = i;
      for (int bit = 0; bit < 8; ++bit) t[i] = t[i] >> 1 ^ (t[i] & 1 ? 0x82f63b78u : 0);
    }
    return t;
  }();
  std::uint32_t crc = ~0u;
  for (const char c : bytes) crc = crc >> 8 ^ table[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

std::string event_record(std::string_view event) {
  const std::string length = little_endian(static_cast<std::uint64_t>(event.size()));
  return length + little_endian(masked(crc32c(length))) + std::string(event) +
         little_endian(masked(crc32c(event)));
}

EventFile::EventFile(const std::string& folder, std::int64_t resumed_step)
    : file_(path_in(folder), 0) {
  std::string begin =
      event_record(Message().real(1, now_seconds()).text(file_version, "brain.Event:2").bytes());
  if (resumed_step > 0)
    begin += event_record(
        event(resumed_step + 1).text(session_log, Message().whole(1, start).bytes()).bytes());
  file_.append(begin);
}

void EventFile::append(const nlohmann::ordered_json& object) {
  Message values;
  for (const auto& [key, value] : object.items())
    // events have a time of their own
    if (key != "step" && key != "unix_time_s" && value.is_number())
      values.text(1, Message().text(1, tag_of(key)).real(2, value.get<float>()).bytes());
  if (!values.bytes().empty())
    file_.append(event_record(
        event(object.value("step", std::int64_t{0})).text(summary, values.bytes()).bytes()));
}

}  // namespace trainx::metrics
