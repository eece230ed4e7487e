// trainx: the command.
#include "trainx_main.hpp"

int main(int argc, char** argv) { return trainx::app::trainx_main(argc, argv); }
