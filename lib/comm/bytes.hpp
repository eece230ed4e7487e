// The payloads of messages between ranks: integers and texts after one another. All hosts of a run
// are little-endian, and the ranks are one build.
#pragma once
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace trainx::comm {

/// Bytes that are no message of a rank.
class MalformedMessage : public std::runtime_error {
 public:
  MalformedMessage() : std::runtime_error("bytes arrived that are no message of a rank") {}
};

class ByteWriter {
 public:
  ByteWriter& put(std::int64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  ByteWriter& put(std::string_view text) {
    put(static_cast<std::int64_t>(text.size()));
    bytes_.append(text);
    return *this;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Throws MalformedMessage where the bytes end early or say more than they hold.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  std::int64_t integer() {
    std::int64_t value = 0;
    std::memcpy(&value, piece(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() {
    const std::int64_t size = integer();
    return std::string(piece(size < 0 ? rest_.size() + 1 : static_cast<std::size_t>(size)));
  }

 private:
  std::string_view piece(std::size_t size) {
    if (size > rest_.size()) throw MalformedMessage();
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::string_view rest_;
};

}  // namespace trainx::comm
