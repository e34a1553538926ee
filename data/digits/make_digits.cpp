/// make_digits FOLDER: writes a synthetic handwritten-digit set as four IDX files, named as MNIST's are.
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "app/flags/flag_set.h"
#include "base/atomic_file.h"
#include "base/str.h"
#include "render.h"
#include "robusta/error.h"

namespace robusta::digits {
namespace {

struct Flags : FlagSet {
  Flag<uint64_t> seed{this, "seed", 1, "which set: the same seed gives the same bytes on every machine"};
  Flag<uint32_t> train{this, "train", 12000, "number of training images"};
  Flag<uint32_t> test{this, "test", 2000, "number of test images"};
};

using Bytes = std::vector<uint8_t>;

/// The head of an IDX file: magic number, then the extents, all 32-bit big endian.
Bytes idx_head(std::initializer_list<uint32_t> words) {
  Bytes head;
  for (const uint32_t word : words) {
    for (int shift = 24; shift >= 0; shift -= 8) head.push_back(static_cast<uint8_t>(word >> shift));
  }
  return head;
}

void write_file(const std::string& path, const Bytes& bytes) {
  write_file_atomically(path, [&](int fd) { write_all(fd, bytes.data(), bytes.size()); });
}

/// `file` is MNIST's name of the set in file names ("train", "t10k").
void make_set(uint64_t seed, const std::string& folder, const std::string& set, const std::string& file,
              uint32_t count) {
  constexpr uint32_t kImages = 2051, kLabels = 2049;
  Bytes images = idx_head({kImages, count, kSize, kSize}), labels = idx_head({kLabels, count});
  for (uint32_t i = 0; i < count; ++i) {
    const Image image = make_image(seed, set, i);
    images.insert(images.end(), image.pixels.begin(), image.pixels.end());
    labels.push_back(image.label);
    if ((i + 1) % 2000 == 0 || i + 1 == count) std::printf("%s: %u of %u images\n", set.c_str(), i + 1, count);
    std::fflush(stdout);
  }
  write_file(str(folder, "/", file, "-images-idx3-ubyte"), images);
  write_file(str(folder, "/", file, "-labels-idx1-ubyte"), labels);
}

void run(const Flags& flags, const std::string& folder) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) throw Error(ErrorKind::kOutput, str("cannot create folder ", folder, ": ", code.message()));
  make_set(flags.seed(), folder, "train", "train", flags.train());
  make_set(flags.seed(), folder, "test", "t10k", flags.test());
}

}  // namespace
}  // namespace robusta::digits

int main(int argc, char** argv) {
  try {
    robusta::digits::Flags flags;
    const robusta::CommandLine line = flags.read(argc, argv);
    if (line.help || line.words.size() != 1) {
      std::fprintf(stderr, "usage: make_digits FOLDER [--seed=1] [--train=12000] [--test=2000]\n%s",
                   flags.describe().c_str());
      return static_cast<int>(robusta::ErrorKind::kUsage);
    }
    robusta::digits::run(flags, line.words[0]);
    return 0;
  } catch (const robusta::Error& error) {
    std::fprintf(stderr, "make_digits: %s\n", error.what());
    return error.exit_code();
  }
}
