#include "mixer.hpp"

int main(int argc, char** argv) {
  trainx::add_model<MixerOptions>(
      "mixer", "a small causal MLP-mixer, the example of a model of your own", build_mixer);
  return trainx::worker_main(argc, argv);
}
