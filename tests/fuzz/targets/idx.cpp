// Digits of MNIST's files and pictures of CIFAR-10's.

#include "data/convert/cifar.h"
#include "data/convert/idx.h"

#include <filesystem>

#include "fuzz.h"

namespace robusta::fuzz {
namespace {

using namespace std::string_view_literals;

/// Two images of two pixels, and their labels.
constexpr std::string_view kImages =
    "\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02"
    "abcd"sv;
constexpr std::string_view kLabels = "\0\0\x08\x01\0\0\0\x02\x01\x02"sv;

void read_digits(std::string_view input) {
  const std::string path = file_of(input), images = file_of(kImages, "images"), labels = file_of(kLabels, "labels");
  reads([&] { read_idx(path, labels); });
  reads([&] { read_idx(images, path); });
  reads([&] { read_idx(path, path); });
}

void read_pictures(std::string_view input) {
  std::string path;
  for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                           "data_batch_5.bin", "test_batch.bin"}) {
    path = file_of(input, name);
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  reads([&] { convert_cifar(folder, folder / "made", "lmdb", 1); });
  std::filesystem::remove_all(folder / "made");
}

void read_both(std::string_view input) {
  read_digits(input);
  read_pictures(input);
}

[[maybe_unused]] const bool registered_idx = register_target("idx", read_both);

}  // namespace
}  // namespace robusta::fuzz
