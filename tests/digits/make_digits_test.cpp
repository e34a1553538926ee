#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "robusta/error.h"
#include "support/files.h"
#include "support/places.h"

namespace robusta::test {
namespace {

constexpr size_t kImageHead = 16, kLabelHead = 8, kPixels = 28 * 28;

/// The program's exit code.
int make_digits(const std::string& arguments) {
  const std::string command = tools_dir() + "/make_digits " + arguments + " > /dev/null 2>&1";
  return WEXITSTATUS(std::system(command.c_str()));
}

std::string images_of(const TempDir& folder, const std::string& options) {
  EXPECT_EQ(make_digits(folder.path().string() + " " + options), 0);
  return read_file(folder / "train-images-idx3-ubyte");
}

/// FNV-1a, 64 bits.
uint64_t fingerprint(const std::string& bytes) {
  uint64_t h = 0xcbf29ce484222325u;
  for (const unsigned char c : bytes) h = (h ^ c) * 0x100000001b3u;
  return h;
}

TEST(MakeDigits, WritesIdxFiles) {
  TempDir folder;
  const std::string images = images_of(folder, "--train=50 --test=20");
  EXPECT_EQ(images.substr(0, kImageHead), std::string("\0\0\x08\x03\0\0\0\x32\0\0\0\x1c\0\0\0\x1c", kImageHead));
  EXPECT_EQ(images.size(), kImageHead + 50 * kPixels);
  const std::string labels = read_file(folder / "t10k-labels-idx1-ubyte");
  EXPECT_EQ(labels.substr(0, kLabelHead), std::string("\0\0\x08\x01\0\0\0\x14", kLabelHead));
  ASSERT_EQ(labels.size(), kLabelHead + 20);
  for (size_t i = kLabelHead; i < labels.size(); ++i) EXPECT_LE(static_cast<unsigned char>(labels[i]), 9);
}

TEST(MakeDigits, SameSeedSameBytesOnEveryMachine) {
  TempDir folder;
  // Recorded when the generator was made: data made elsewhere or later must be the same.
  EXPECT_EQ(fingerprint(images_of(folder, "--train=200 --test=1 --seed=1")), 1065109281237692486u);
}

TEST(MakeDigits, AnImageDoesNotDependOnHowManyAreMade) {
  TempDir few, many;
  const std::string head = images_of(few, "--train=10 --test=1").substr(kImageHead);
  EXPECT_EQ(head, images_of(many, "--train=30 --test=1").substr(kImageHead, head.size()));
}

TEST(MakeDigits, SeedAndSetMatter) {
  TempDir one, two;
  const std::string first = images_of(one, "--train=10 --test=10 --seed=1");
  EXPECT_NE(first, images_of(two, "--train=10 --test=10 --seed=2"));
  EXPECT_NE(first, read_file(one / "t10k-images-idx3-ubyte"));
}

TEST(MakeDigits, RefusesAMissingFolderNameAndAnUnwritableFolder) {
  EXPECT_EQ(make_digits(""), static_cast<int>(ErrorKind::kUsage));
  EXPECT_EQ(make_digits("/proc/no/such/folder"), static_cast<int>(ErrorKind::kOutput));
}

}  // namespace
}  // namespace robusta::test
