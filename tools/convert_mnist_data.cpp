// Makes a database of a pair of MNIST files.

#include "data/convert/idx.h"
#include "data/writer_kinds.h"
#include "run_tool.h"

int main(int argc, char** argv) {
  const std::string usage =
      "Converts images and labels in the format of MNIST to a database.\n"
      "    convert_mnist_data [FLAGS] IMAGE_FILE LABEL_FILE DB_NAME\n"
      "The files must be unpacked (gunzip).";
  robusta::DatabaseFlags flags;
  return robusta::run_tool(argc, argv, usage, 3, 3, flags, [&](const std::vector<std::string>& words) {
    robusta::require_writer(flags.backend());
    const int64_t written = robusta::convert_mnist(words[0], words[1], words[2], flags.backend());
    LOG_INFO << "Wrote " << written << " images to " << words[2] << ".";
  });
}
