// Makes databases of the binary files of CIFAR-10.

#include "data/convert/cifar.h"
#include "data/writer_kinds.h"
#include "run_tool.h"

int main(int argc, char** argv) {
  const std::string usage =
      "Converts the binary version of CIFAR-10 to databases.\n"
      "    convert_cifar_data INPUT_FOLDER OUTPUT_FOLDER DB_TYPE\n"
      "DB_TYPE is lmdb or leveldb; the results are OUTPUT_FOLDER/cifar10_train_DB_TYPE and cifar10_test_DB_TYPE.";
  return robusta::run_tool(argc, argv, usage, 3, 3, [](const std::vector<std::string>& words) {
    robusta::require_writer(words[2]);
    robusta::convert_cifar(words[0], words[1], words[2]);
    LOG_INFO << "Wrote cifar10_train_" << words[2] << " and cifar10_test_" << words[2] << " to " << words[1] << ".";
  });
}
