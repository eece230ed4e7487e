// The folder of the sources, for tests that read recorded data.
#pragma once
#include <string>

const std::string& source_dir();
