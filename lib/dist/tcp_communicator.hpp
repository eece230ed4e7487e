#pragma once
#include "dist/communicator.hpp"
namespace trainx::dist {
struct TcpCommunicator { static std::unique_ptr<Communicator> make(Control&) { throw InternalError("TCP is not there yet"); } };
}
