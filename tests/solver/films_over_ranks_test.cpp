// Clips of VideoData over ranks: each takes its part of the global batch, drawn as one rank draws all of it.
#include <sys/stat.h>

#include <cstdio>

#include "data/image.h"
#include "solver/ranked_training.h"

namespace robusta::test::films_over_ranks_test {
namespace {

class FilmsOverRanks : public Training {
 protected:
  static constexpr int kFilms = 7, kFrames = 9;

  void SetUp() override {
    std::string list;
    for (int film = 0; film < kFilms; ++film) {
      const std::string name = "film" + std::to_string(film);
      ::mkdir((folder() / name).c_str(), 0700);
      for (int frame = 1; frame <= kFrames; ++frame) write_frame(name, film, frame);
      list += name + " " + std::to_string(kFrames) + " " + std::to_string(film % kClasses) + "\n";
    }
    write_file(folder() / "films.txt", list);
  }
  static const TempDir& folder() { return *folder_; }

  static void write_frame(const std::string& film, int number, int frame) {
    Image image;
    image.reset({3, 8, 8});
    for (size_t i = 0; i < image.planes.size(); ++i)
      image.planes[i] = static_cast<uint8_t>(31 * number + 7 * frame + static_cast<int>(i));
    char name[32];
    std::snprintf(name, sizeof name, "/image_%04d.jpg", frame);
    write_file(folder() / (film + name), encode_image(image, ImageFormat::kPng));
  }

  static std::string films(int batch) {
    return "layer { name: 'data' type: 'VideoData' top: 'data' top: 'label' include { phase: TRAIN } video_data_param "
           "{ "
           "source: '" +
           (folder() / "films.txt") + "' root_folder: '" + (folder() / "") + "' batch_size: " + std::to_string(batch) +
           " num_segments: 3 new_length: 1 modality: RGB shuffle: true } transform_param { crop_size: 6 mirror: true "
           "scale: 0.01 } "
           "} ";
  }
};

TEST_F(FilmsOverRanks, TheSameClipsWhateverTheRanks) {
  const auto trained = [](int ranks) {
    Run run{.settings = kFixed, .layers = kConv + kDropped + loss_layer(), .ranks = ranks};
    run.data = films(kGlobalBatch / ranks);
    return train(run);
  };
  const Outcome alone = trained(1);
  EXPECT_NE(alone.losses.front(), alone.losses.back());
  for (const int ranks : {2, 4}) expect_same(trained(ranks), alone, 1e-6);
}

}  // namespace
}  // namespace robusta::test::films_over_ranks_test
