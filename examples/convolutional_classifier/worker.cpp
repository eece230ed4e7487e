#include "classifier.hpp"

int main(int argc, char** argv) {
  trainx::add_model<ClassifierOptions>(
      "classifier", "a small residual network for images, the example of a graph of your own",
      build_classifier);
  return trainx::worker_main(argc, argv);
}
