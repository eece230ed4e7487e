#include "kernels/experts/balance_biases.hpp"
#include "gpu/operands.hpp"

namespace balance_biases_test {

using namespace trainx::kernels;

TEST_CASE("biases of routers move as on a host, to the bit", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const int experts : {1, 8, 60, 300, 512})
    for (const double norm :
         {3.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
      const int first = experts / 3, count = experts - first;
      INFO("experts " << experts << " from " << first << " norm " << norm);
      std::vector<double> loads;
      for (const std::int32_t n : random_integers(experts, 9, 1)) loads.push_back(n);
      const std::vector<double> norm2{norm};
      const auto before = random_elements<float>(count, 2);
      std::vector<float> want = before;
      balance_biases_reference(
          {experts, loads.data(), norm2.data(), 0.001, first, count, want.data()});
      const OnDevice<double> on_loads(loads), on_norm(norm2);
      const OnDevice<float> biases(before);
      require_success(balance_biases({experts, on_loads.data(), on_norm.data(), 0.001, first, count,
                                      biases.data()},
                                     nullptr),
                      "biases");
      CHECK(same_bits(biases.host(), want));
    }
}

}  // namespace balance_biases_test
