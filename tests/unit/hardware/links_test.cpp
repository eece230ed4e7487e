#include "hardware/links.hpp"
#include "core/error.hpp"
#include "hardware/hardware.hpp"
#include "support/catch.hpp"

namespace links_test {

using namespace trainx;
using namespace trainx::hardware;

TEST_CASE("each kind of links has a name that is read back") {
  for (const LinkKind kind : {LinkKind::nvlink, LinkKind::pcie, LinkKind::host})
    CHECK(link_kind_named(name_of(kind)) == kind);
  CHECK_FALSE(link_kind_named("infiniband"));
  CHECK_FALSE(link_kind_named(""));
}

TEST_CASE("data sheets: switches of NVLink join all GPUs, bridges are bought, cards have PCIe") {
  CHECK(hardware_named("h200").links.usual() == Links{LinkKind::nvlink, 450e9});
  CHECK(hardware_named("a100").links.usual() == Links{LinkKind::nvlink, 300e9});
  CHECK(hardware_named("l40s").links.usual().kind == LinkKind::pcie);
  CHECK(hardware_named("a40").links.usual().kind == LinkKind::pcie);
  for (const char* geforce : {"rtx3090", "rtx4090", "rtx5090", "rtx5060ti"}) {
    INFO(geforce);
    CHECK(hardware_named(geforce).links.usual().kind == LinkKind::host);
  }
  const LinkChoices rtx3090 = hardware_named("rtx3090").links;
  CHECK(rtx3090.of(LinkKind::nvlink, 2, "rtx3090") == Links{LinkKind::nvlink, 56.25e9});
  CHECK_THROWS_AS(rtx3090.of(LinkKind::nvlink, 4, "rtx3090"), UserError);
  CHECK_THROWS_AS(hardware_named("rtx4090").links.of(LinkKind::nvlink, 2, "rtx4090"), UserError);
  CHECK(hardware_named("h200").links.of(LinkKind::host, 2, "h200").bytes_per_s ==
        hardware_named("h200").links.of(LinkKind::pcie, 2, "h200").bytes_per_s);
}

TEST_CASE("sums are slower than copies, and no copies go through the host's memory") {
  const LinkRates nvlink = rates_of({LinkKind::nvlink, 450e9}),
                  host = rates_of({LinkKind::host, 63e9});
  CHECK(nvlink.sum_bytes_per_s < nvlink.copy_bytes_per_s);
  CHECK(nvlink.copy_bytes_per_s < 450e9);
  CHECK(host.sum_bytes_per_s < 63e9);
  CHECK(host.copy_bytes_per_s == 0);
  CHECK(rates_of({LinkKind::pcie, 63e9}).copy_bytes_per_s > 0);
  for (const LinkRates& rates : {nvlink, host}) {
    CHECK(rates.collectives.slows >= 0);
    CHECK(rates.collectives.slows < 1);
    CHECK(rates.collectives.gather_share > 0);
    CHECK(rates.collectives.gather_share <= 1);
  }
}

}  // namespace links_test
