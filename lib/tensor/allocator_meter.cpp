#include "tensor/allocator_meter.hpp"
#include <c10/core/CPUAllocator.h>
#include <atomic>
#include <mutex>
#include <new>
#include <utility>

namespace trainx::tensor {

namespace {

std::atomic<std::int64_t> current{0}, peak{0}, allocations{0};

void add(std::int64_t bytes) {
  const std::int64_t now = current.fetch_add(bytes) + bytes;
  std::int64_t seen = peak.load();
  while (now > seen && !peak.compare_exchange_weak(seen, now)) {}
}

/// Stands before the memory that is handed out, in a piece of its own so that the memory keeps its
/// alignment. With it the memory's address is all that freeing needs, as c10's raw_allocate
/// demands.
struct Header {
  c10::DataPtr inner;
  std::int64_t bytes;
};
constexpr std::size_t header_size = 64;
static_assert(sizeof(Header) <= header_size);

void release(void* memory) {
  if (!memory) return;
  auto* header = reinterpret_cast<Header*>(static_cast<char*>(memory) - header_size);
  current -= header->bytes;
  const c10::DataPtr inner = std::move(header->inner);  // frees the header too, at the end
  header->~Header();
}

class Meter final : public c10::Allocator {
 public:
  explicit Meter(c10::Allocator* inner) : inner_(inner) {}
  c10::DataPtr allocate(std::size_t n) override {
    if (n == 0) return {nullptr, nullptr, &release, c10::Device(c10::DeviceType::CPU)};
    c10::DataPtr inner = inner_->allocate(n + header_size);
    char* begin = static_cast<char*>(inner.get());
    new (begin) Header{std::move(inner), static_cast<std::int64_t>(n)};
    add(static_cast<std::int64_t>(n));
    ++allocations;
    return {begin + header_size, begin + header_size, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t n) const override {
    default_copy_data(to, from, n);
  }

 private:
  c10::Allocator* inner_;
};

}  // namespace

void install_allocator_meter() {
  static std::once_flag once;
  std::call_once(once, [] {
    static Meter meter(c10::GetCPUAllocator());
    c10::SetCPUAllocator(&meter, 255);  // the highest priority: nobody replaces it later
  });
}

AllocatorBytes allocator_bytes() { return {current, peak, allocations}; }

void reset_allocator_peak() { peak = current.load(); }

}  // namespace trainx::tensor
