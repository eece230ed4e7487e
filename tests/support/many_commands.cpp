// Commands of trainx as forks of one process without LibTorch, whose workers are processes of their
// own.
#include "support/command_server.hpp"

int main(int argc, char** argv) { return trainx::tests::serve_commands(argc, argv); }
