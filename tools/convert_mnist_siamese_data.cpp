// Makes a database of pairs of a pair of MNIST files.

#include "data/convert/siamese.h"
#include "data/writer_kinds.h"
#include "run_tool.h"

namespace {

struct Flags : robusta::DatabaseFlags {
  robusta::Flag<uint64_t> seed{this, "seed", 1, "seed of what is drawn"};
};

}  // namespace

int main(int argc, char** argv) {
  const std::string usage =
      "Makes a database of random pairs of MNIST's digits, for siamese nets.\n"
      "    convert_mnist_siamese_data [FLAGS] IMAGE_FILE LABEL_FILE DB_NAME\n"
      "The files must be unpacked (gunzip). Label 1: the same digit.";
  Flags flags;
  return robusta::run_tool(argc, argv, usage, 3, 3, flags, [&](const std::vector<std::string>& words) {
    robusta::require_writer(flags.backend());
    const int64_t written = robusta::convert_mnist_pairs(words[0], words[1], words[2], flags.seed(), flags.backend());
    LOG_INFO << "Wrote " << written << " pairs to " << words[2] << ".";
  });
}
