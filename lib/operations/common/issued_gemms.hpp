// Which matrix products were really issued: a test holds them against those that the specs declare.
#pragma once
#include <cstdint>
#include <vector>

namespace trainx::operations {

struct IssuedGemm {
  std::int64_t m, n, k;
};

/// While one lives, the products that this thread issues through lib/operations are noted in it.
class IssuedGemms {
 public:
  IssuedGemms();
  ~IssuedGemms();
  IssuedGemms(const IssuedGemms&) = delete;
  IssuedGemms& operator=(const IssuedGemms&) = delete;
  std::vector<IssuedGemm> gemms;

 private:
  IssuedGemms* before_;
};

void note_gemm(std::int64_t m, std::int64_t n, std::int64_t k);

}  // namespace trainx::operations
