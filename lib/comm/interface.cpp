#include "comm/interface.hpp"
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <cstring>
#include <memory>

namespace trainx::comm {
namespace {

/// Ports and IPv6 scopes aside.
bool is_same(const sockaddr* a, const sockaddr* b) {
  if (!a || !b || a->sa_family != b->sa_family) return false;
  if (a->sa_family == AF_INET)
    return std::memcmp(&reinterpret_cast<const sockaddr_in*>(a)->sin_addr,
                       &reinterpret_cast<const sockaddr_in*>(b)->sin_addr, sizeof(in_addr)) == 0;
  return a->sa_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6*>(a)->sin6_addr,
                     &reinterpret_cast<const sockaddr_in6*>(b)->sin6_addr, sizeof(in6_addr)) == 0;
}

}  // namespace

std::string interface_of(const std::string& address) {
  addrinfo hints{}, *resolved = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(address.c_str(), nullptr, &hints, &resolved) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(resolved, &::freeaddrinfo);
  ifaddrs* listed = nullptr;
  if (::getifaddrs(&listed) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> interfaces(listed, &::freeifaddrs);
  for (const addrinfo* a = addresses.get(); a; a = a->ai_next)
    for (const ifaddrs* i = interfaces.get(); i; i = i->ifa_next)
      if (is_same(a->ai_addr, i->ifa_addr)) return i->ifa_name;
  return {};
}

}  // namespace trainx::comm
