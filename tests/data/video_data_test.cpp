// VideoData: clips out of folders of frames, in the ways of three forks, and what is wrong with lists and frames.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "data/film_list.h"
#include "data/frame_names.h"
#include "layers/kit/known_layers.h"
#include "opened_layer.h"
#include "sample_db.h"
#include "schema/blob_proto.h"
#include "schema/read_text.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::video_data_test {
namespace {

using test::contains;
using test::error_of;
using test::nth_pass;
using test::OpenedLayer;
using test::pass_over;
using test::TempDir;
using test::Tops;

constexpr Extent kFrame{3, 4, 5};
constexpr size_t kPixels = 20;

/// What each pixel of a plane of a frame is.
int tone(int64_t film, int64_t frame, int64_t channel) { return static_cast<int>(60 * film + 3 * frame + channel); }

void write_frame(const std::string& path, int64_t film, int64_t frame, Extent size = kFrame) {
  Image image;
  image.reset(size);
  const auto plane = static_cast<size_t>(size.height * size.width);
  for (size_t i = 0; i < image.planes.size(); ++i)
    image.planes[i] = static_cast<uint8_t>(tone(film, frame, static_cast<int64_t>(i / plane)));
  test::write_file(path, encode_image(image, ImageFormat::kPng));
}

std::string numbered(const char* pattern, int64_t frame) {
  char name[64];
  std::snprintf(name, sizeof name, pattern, static_cast<int>(frame));
  return name;
}

/// Films "film 0" ..., each of `frames` frames from 1 on, with labels 7, 8, ..., and their list, whose numbers are
/// `number`.
std::string make_films(const TempDir& dir, int films, int64_t frames, const char* pattern, int64_t number) {
  std::string list;
  for (int film = 0; film < films; ++film) {
    const std::string name = "film " + std::to_string(film);
    ::mkdir((dir / name).c_str(), 0700);
    for (int64_t i = 1; i <= frames; ++i) write_frame((dir / name) + "/" + numbered(pattern, i), film, i);
    list += name + " " + std::to_string(number) + " " + std::to_string(7 + film) + "\n";
  }
  test::write_file(dir / "list.txt", list);
  return dir / "list.txt";
}

/// Of film 0 alone, a motion along x and y for each frame, as grey images.
std::string make_flow(const TempDir& dir, int64_t frames) {
  ::mkdir((dir / "film 0").c_str(), 0700);
  for (int64_t i = 1; i <= frames; ++i) {
    write_frame(dir / ("film 0/" + numbered("flow_x_%05d.jpg", i)), 0, i, {1, 4, 5});
    write_frame(dir / ("film 0/" + numbered("flow_y_%05d.jpg", i)), 1, i, {1, 4, 5});
  }
  test::write_file(dir / "list.txt", "film 0 " + std::to_string(frames) + " 7\n");
  return dir / "list.txt";
}

caffe::LayerParameter video_layer(const std::string& list, const TempDir& dir, const std::string& settings,
                                  const std::string& transform = "", caffe::Phase phase = caffe::TEST) {
  return test::layer_of_images("VideoData", "video_data_param", list, settings + " root_folder: '" + (dir / "") + "'",
                               transform, phase);
}

/// The value of each plane of the first sample, which is the same for all of its pixels.
std::vector<float> tones_of(const Tops& tops, size_t pixels = kPixels) {
  const size_t planes = tops.values[0].size() / static_cast<size_t>(tops.shapes[0][0]) / pixels;
  std::vector<float> tones;
  for (size_t plane = 0; plane < planes; ++plane) {
    const auto begin = tops.values[0].begin() + static_cast<std::ptrdiff_t>(plane * pixels);
    EXPECT_TRUE(std::all_of(begin, begin + static_cast<std::ptrdiff_t>(pixels), [&](float x) { return x == *begin; }));
    tones.push_back(*begin);
  }
  return tones;
}

/// Frame by frame, all channels of each; or channel by channel, all frames of each.
std::vector<float> tones_by_frame(const std::vector<int64_t>& frames, int64_t film = 0) {
  std::vector<float> tones;
  for (const int64_t frame : frames)
    for (int64_t c = 0; c < 3; ++c) tones.push_back(static_cast<float>(tone(film, frame, c)));
  return tones;
}
std::vector<float> tones_by_channel(const std::vector<int64_t>& frames, int64_t film = 0) {
  std::vector<float> tones;
  for (int64_t c = 0; c < 3; ++c)
    for (const int64_t frame : frames) tones.push_back(static_cast<float>(tone(film, frame, c)));
  return tones;
}

TEST(FrameNamesTest, ArePatternsOfPrintf) {
  EXPECT_EQ(FrameNames("img_%05d.jpg", false).name(12, 'x'), "img_00012.jpg");
  EXPECT_EQ(FrameNames("%d", false).name(12, 'x'), "12");
  EXPECT_EQ(FrameNames("%3d%%.png", false).name(7, 'x'), "  7%.png");
  EXPECT_EQ(FrameNames("%02d", false).name(1234, 'x'), "1234");
  EXPECT_EQ(FrameNames("flow_%c_%04d.jpg", true).name(3, 'y'), "flow_y_0003.jpg");
  EXPECT_EQ(FrameNames("%06d/%c.jpg", true).name(3, 'x'), "000003/x.jpg");
  for (const char* broken : {"", "img.jpg", "%s", "%n%d", "%d%d", "%c_%d", "%05", "%", "%-5d", "%123d", "%05.2d"})
    EXPECT_EQ(error_of([&] { FrameNames(broken, false); }).kind(), ErrorKind::kConfig) << broken;
  for (const char* broken : {"%d", "%c", "%c%c%d", "%5c%d"})
    EXPECT_EQ(error_of([&] { FrameNames(broken, true); }).kind(), ErrorKind::kConfig) << broken;
}

TEST(FilmListTest, LinesAreReadFromTheirEnds) {
  TempDir dir;
  test::write_file(dir / "l", "a b 12 3\r\n\n \t\nc\t1   2  \nd 5 -1");
  const FilmListReader films(dir / "l", "root/", false);
  ASSERT_EQ(films.size(), 3);
  EXPECT_EQ(films.film(0).folder, "root/a b");
  EXPECT_EQ(films.film(0).number, 12);
  EXPECT_EQ(films.film(0).labels, std::vector<int>{3});
  EXPECT_EQ(films.film(1).folder, "root/c");
  EXPECT_EQ(films.film(1).line, 4);
  EXPECT_EQ(films.film(2).labels, std::vector<int>{-1});
  EXPECT_EQ(films.key(1), "root/c, line 4");
  test::write_file(dir / "l", "a 1 4,0,7\n");
  EXPECT_EQ(FilmListReader(dir / "l", "", true).film(0).labels, (std::vector<int>{4, 0, 7}));
}

TEST(FilmListTest, BrokenLinesAreNamed) {
  TempDir dir;
  for (const char* broken : {"a", "a 1", " 1 2", "a b 2", "a 1 b", "a 1.5 2", "a 1 2,3", "a 99999999999 1", "1 2"}) {
    test::write_file(dir / "l", "fine 1 2\n" + std::string(broken) + "\nfine 1 2\n");
    const Error error = error_of([&] { FilmListReader(dir / "l", "", false); });
    EXPECT_EQ(error.kind(), ErrorKind::kData) << broken;
    EXPECT_EQ(error.location(), (dir / "l") + ":2") << broken;
  }
  for (const char* broken : {"a 1 2,", "a 1 ,2", "a 1 2,x"}) {
    test::write_file(dir / "l", broken);
    EXPECT_EQ(error_of([&] { FilmListReader(dir / "l", "", true); }).location(), (dir / "l") + ":1") << broken;
  }
  test::write_file(dir / "l", "\n");
  EXPECT_EQ(error_of([&] { FilmListReader(dir / "l", "", false); }).kind(), ErrorKind::kData);
}

constexpr char kSegments[] = "new_length: 2 num_segments: 3 modality: RGB name_pattern: 'img_%05d.jpg' ";

TEST(VideoDataTest, OfEachSegmentTheMiddleInTesting) {
  TempDir dir;
  OpenedLayer layer(
      video_layer(make_films(dir, 2, 12, "img_%05d.jpg", 12), dir, kSegments + std::string("batch_size: 2")));
  const Tops tops = pass_over(layer, nth_pass(0, 2));
  EXPECT_EQ(tops.shapes[0], (Shape{2, 18, 4, 5}));
  EXPECT_EQ(tops.shapes[1], (Shape{2}));
  EXPECT_EQ(tones_of(tops), tones_by_frame({2, 3, 6, 7, 10, 11}));
  EXPECT_EQ(tops.values[1], (std::vector<float>{7, 8}));
  EXPECT_EQ(layer->labelled()->label(1), 8);
  EXPECT_EQ(layer->records(), 2);
  EXPECT_TRUE(contains(layer->sample_key(1), "film 1, line 2 in "));
}

TEST(VideoDataTest, OfEachSegmentAnyClipInTraining) {
  TempDir dir;
  const auto param = video_layer(make_films(dir, 1, 13, "img_%05d.jpg", 13), dir, kSegments, "", caffe::TRAIN);
  OpenedLayer layer(param), resumed(param);
  std::set<int64_t> drawn[3];
  for (uint64_t k = 0; k < 60; ++k) {
    const std::vector<float> tones = tones_of(pass_over(layer, nth_pass(k, 1)));
    for (size_t segment = 0; segment < 3; ++segment) {
      const int64_t first = static_cast<int64_t>(tones[6 * segment]) / 3;
      drawn[segment].insert(first);
      EXPECT_EQ(static_cast<int64_t>(tones[6 * segment + 3]) / 3, first + 1);
    }
  }
  EXPECT_EQ(drawn[0], (std::set<int64_t>{1, 2, 3}));
  EXPECT_EQ(drawn[1], (std::set<int64_t>{5, 6, 7}));
  EXPECT_EQ(drawn[2], (std::set<int64_t>{9, 10, 11}));
  EXPECT_EQ(pass_over(resumed, nth_pass(41, 1)).values, pass_over(layer, nth_pass(41, 1)).values);
}

TEST(VideoDataTest, SegmentsThatAreTooShortBeginWithTheFilm) {
  TempDir dir;
  OpenedLayer layer(video_layer(make_films(dir, 1, 4, "img_%05d.jpg", 4), dir, kSegments, "", caffe::TRAIN));
  EXPECT_EQ(tones_of(pass_over(layer, nth_pass(0, 1))), tones_by_frame({1, 2, 1, 2, 1, 2}));
}

TEST(VideoDataTest, MotionAlongBothAxesInTurnAndTurnedInAMirror) {
  TempDir dir;
  const std::string list = make_flow(dir, 2);
  const std::string settings = "new_length: 2 num_segments: 1 modality: FLOW name_pattern: 'flow_%c_%05d.jpg'";
  const std::vector<float> straight{3, 63, 6, 66}, turned{255 - 3, 63, 255 - 6, 66};
  OpenedLayer plain(video_layer(list, dir, settings));
  const Tops tops = pass_over(plain, nth_pass(0, 1));
  EXPECT_EQ(tops.shapes[0], (Shape{1, 4, 4, 5}));
  EXPECT_EQ(tones_of(tops), straight);
  OpenedLayer mirrored(video_layer(list, dir, settings, "mirror: true is_flow: true"));
  int times[2] = {};
  for (uint64_t k = 0; k < 40; ++k) {
    const std::vector<float> tones = tones_of(pass_over(mirrored, nth_pass(k, 1)));
    EXPECT_TRUE(tones == straight || tones == turned);
    ++times[tones == turned];
  }
  EXPECT_GT(times[0], 8);
  EXPECT_GT(times[1], 8);
}

TEST(VideoDataTest, NamesOfFramesWhereNoneAreGiven) {
  TempDir dir;
  OpenedLayer colours(video_layer(make_films(dir, 1, 1, "image_%04d.jpg", 1), dir, "modality: RGB"));
  EXPECT_EQ(tones_of(pass_over(colours, nth_pass(0, 1))), tones_by_frame({1}));
  EXPECT_TRUE(contains(error_of([&] { OpenedLayer(video_layer(dir / "list.txt", dir, "num_segments: 1")); }).cause(),
                       "flow_x_0001.jpg"));
  OpenedLayer grey(video_layer(dir / "list.txt", dir, "modality: RGB grayscale: true"));
  EXPECT_EQ(pass_over(grey, nth_pass(0, 1)).shapes[0], (Shape{1, 1, 4, 5}));
}

TEST(VideoDataTest, VolumesFromTheFrameThatTheListNames) {
  TempDir dir;
  OpenedLayer c3d(
      video_layer(make_films(dir, 2, 8, "%06d.jpg", 3), dir, "batch_size: 2 new_length: 3 use_image: true"));
  const Tops tops = pass_over(c3d, nth_pass(0, 2));
  EXPECT_EQ(tops.shapes[0], (Shape{2, 3, 3, 4, 5}));
  EXPECT_EQ(tones_of(tops), tones_by_channel({3, 4, 5}));
  EXPECT_EQ(tops.values[1], (std::vector<float>{7, 8}));
  OpenedLayer sparse(video_layer(dir / "list.txt", dir, "new_length: 3 use_image: true sampling_rate: 2"));
  EXPECT_EQ(tones_of(pass_over(sparse, nth_pass(0, 1))), tones_by_channel({3, 5, 7}));
  OpenedLayer video_caffe(video_layer(make_films(dir, 1, 8, "image_%04d.jpg", 4), dir, "new_length: 2"));
  EXPECT_EQ(tones_of(pass_over(video_caffe, nth_pass(0, 1))), tones_by_channel({4, 5}));
  OpenedLayer grey(video_layer(dir / "list.txt", dir, "new_length: 2 is_color: false"));
  EXPECT_EQ(pass_over(grey, nth_pass(0, 1)).shapes[0], (Shape{1, 1, 2, 4, 5}));
}

TEST(VideoDataTest, VolumesFromAnyFrameAndAtAnyRate) {
  TempDir dir;
  const std::string list = make_films(dir, 1, 6, "%06d.jpg", 6);
  const std::string settings = "new_length: 2 use_image: true use_temporal_jitter: true ";
  const auto drawn = [&](const std::string& more, caffe::Phase phase) {
    OpenedLayer layer(video_layer(list, dir, settings + more, "", phase));
    std::set<std::pair<int, int>> clips;
    for (uint64_t k = 0; k < 80; ++k) {
      const std::vector<float> tones = tones_of(pass_over(layer, nth_pass(k, 1)));
      clips.insert({static_cast<int>(tones[0]) / 3, static_cast<int>(tones[1]) / 3});
    }
    return clips;
  };
  using Clips = std::set<std::pair<int, int>>;
  EXPECT_EQ(drawn("", caffe::TRAIN), (Clips{{1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}}));
  EXPECT_EQ(drawn("sampling_rate: 2", caffe::TRAIN), (Clips{{1, 3}, {2, 4}, {3, 5}}));
  EXPECT_EQ(drawn("", caffe::TEST), (Clips{{1, 2}}));
  EXPECT_EQ(drawn("use_sampling_rate_jitter: true max_sampling_rate: 3", caffe::TEST), (Clips{{1, 2}, {1, 3}, {1, 4}}));
}

TEST(VideoDataTest, FlagsOfManyLabels) {
  TempDir dir;
  make_films(dir, 1, 2, "%06d.jpg", 1);
  test::write_file(dir / "list.txt", "film 0 1 0,3\nfilm 0 1 2\n");
  const std::string settings = "batch_size: 2 new_length: 1 use_image: true use_multiple_label: true num_of_labels: ";
  OpenedLayer layer(video_layer(dir / "list.txt", dir, settings + "4"));
  const Tops tops = pass_over(layer, nth_pass(0, 2));
  EXPECT_EQ(tops.shapes[1], (Shape{2, 4}));
  EXPECT_EQ(tops.values[1], (std::vector<float>{1, 0, 0, 1, 0, 0, 1, 0}));
  EXPECT_FALSE(layer->labelled());
  const Error error = error_of([&] { OpenedLayer(video_layer(dir / "list.txt", dir, settings + "3")); });
  EXPECT_EQ(error.location(), (dir / "list.txt") + ":1");
  EXPECT_EQ(error.cause(), "label 3 of 3");
}

TEST(VideoDataTest, TheFormOfC3dsFirstVersion) {
  TempDir dir;
  const std::string list = make_films(dir, 1, 8, "%06d.jpg", 2);
  const NetDef net = parse_net("layers { name: 'd' type: VIDEO_DATA top: 'x' image_data_param { source: '" + list +
                                   "' root_folder: '" + (dir / "") +
                                   "' use_image: true batch_size: 1 crop_size: 2 mirror: true mean_value: 5 scale: 2 "
                                   "show_data: 0 new_height: 6 new_width: 7 new_length: 2 } }",
                               "n.prototxt");
  EXPECT_TRUE(missing_in(net.param.layer(0)).empty());
  OpenedLayer layer(net.param.layer(0));
  const Tops tops = pass_over(layer, nth_pass(0, 1));
  ASSERT_EQ(tops.shapes.size(), 1u);
  EXPECT_EQ(tops.shapes[0], (Shape{1, 3, 2, 2, 2}));
  std::vector<float> wanted = tones_by_channel({2, 3});
  for (float& x : wanted) x = 2 * (x - 5);
  EXPECT_EQ(tones_of(tops, 4), wanted);
}

TEST(VideoDataTest, AMeanForEachChannel) {
  TempDir dir;
  const std::string means = "mean_value: 1 mean_value: 2 mean_value: 3";
  OpenedLayer volume(video_layer(make_films(dir, 1, 4, "%06d.jpg", 1), dir, "new_length: 2 use_image: true", means));
  std::vector<float> wanted = tones_by_channel({1, 2});
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i] -= static_cast<float>(1 + i / 2);
  EXPECT_EQ(tones_of(pass_over(volume, nth_pass(0, 1))), wanted);
  OpenedLayer segments(video_layer(make_films(dir, 1, 4, "img_%05d.jpg", 4), dir,
                                   "new_length: 1 num_segments: 2 modality: RGB name_pattern: 'img_%05d.jpg'", means));
  wanted = tones_by_frame({2, 4});
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i] -= static_cast<float>(1 + i % 3);
  EXPECT_EQ(tones_of(pass_over(segments, nth_pass(0, 1))), wanted);
  for (const char* settings : {"new_length: 2 use_image: true", "modality: RGB new_length: 2"})
    EXPECT_EQ(
        error_of([&] { OpenedLayer(video_layer(dir / "list.txt", dir, settings, means + " mean_value: 4")); }).field(),
        "transform_param.mean_value");
}

TEST(VideoDataTest, AMeanOfClips) {
  TempDir dir;
  caffe::BlobProto mean;
  std::vector<float> values(3 * 2 * kPixels);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i / kPixels);
  blob_to_proto({1, 3, 2, 4, 5}, values.data(), &mean);
  write_binary_proto(dir / "mean", mean);
  OpenedLayer layer(video_layer(make_films(dir, 1, 4, "%06d.jpg", 1), dir, "new_length: 2 use_image: true",
                                "mean_file: '" + (dir / "mean") + "'"));
  std::vector<float> wanted = tones_by_channel({1, 2});
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i] -= static_cast<float>(i);
  EXPECT_EQ(tones_of(pass_over(layer, nth_pass(0, 1))), wanted);
}

/// Planes that are not all of one tone: a crop and a mirror are the same for all of them.
TEST(VideoDataTest, AllFramesAreCutAlike) {
  TempDir dir;
  ::mkdir((dir / "f").c_str(), 0700);
  const Image image = test::random_image({3, 12, 16}, 1);
  for (int i = 1; i <= 2; ++i)
    test::write_file(dir / numbered("f/%06d.jpg", i), encode_image(image, ImageFormat::kPng));
  test::write_file(dir / "list.txt", "f 1 0\n");
  for (const char* more : {"", "multi_scale: true fix_crop: true"}) {
    OpenedLayer layer(video_layer(dir / "list.txt", dir, "new_length: 2 use_image: true",
                                  std::string("crop_size: 5 mirror: true ") + more, caffe::TRAIN));
    std::set<std::vector<float>> seen;
    for (uint64_t k = 0; k < 20; ++k) {
      const std::vector<float> x = pass_over(layer, nth_pass(k, 1)).values[0];
      for (size_t c = 0; c < 3; ++c)
        for (size_t i = 0; i < 25; ++i) ASSERT_EQ(x[50 * c + i], x[50 * c + 25 + i]);
      seen.insert(x);
    }
    EXPECT_GT(seen.size(), 10u);
  }
}

TEST(VideoDataTest, ShuffledAndResumed) {
  TempDir dir;
  const auto param = video_layer(make_films(dir, 4, 6, "%06d.jpg", 6), dir,
                                 "batch_size: 2 new_length: 2 shuffle: true use_image: true use_temporal_jitter: true",
                                 "mirror: true", caffe::TRAIN);
  OpenedLayer whole(param), resumed(param);
  std::vector<float> labels;
  for (uint64_t k = 0; k < 4; ++k) {
    const Tops tops = pass_over(whole, nth_pass(k, 2));
    labels.insert(labels.end(), tops.values[1].begin(), tops.values[1].end());
  }
  EXPECT_EQ(std::set<float>(labels.begin(), labels.begin() + 4), (std::set<float>{7, 8, 9, 10}));
  EXPECT_EQ(std::set<float>(labels.begin() + 4, labels.end()), (std::set<float>{7, 8, 9, 10}));
  EXPECT_EQ(pass_over(resumed, nth_pass(3, 2)).values, pass_over(whole, nth_pass(3, 2)).values);
}

TEST(VideoDataTest, FilmsThatAreTooShortAreNamedAtOnce) {
  TempDir dir;
  make_films(dir, 2, 4, "img_%05d.jpg", 4);
  const std::string list = dir / "list.txt";
  test::write_file(list, "film 0 4 0\nfilm 1 4 0\nfilm 1 1 0\n");
  for (const std::string settings : {kSegments, "use_image: true use_temporal_jitter: true new_length: 2"}) {
    const Error error = error_of([&] { OpenedLayer(video_layer(list, dir, settings)); });
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_EQ(error.location(), list + ":3");
    EXPECT_EQ(error.cause(), "the film has 1 frames, a clip spans 2");
  }
}

TEST(VideoDataTest, FramesThatAreMissingDamagedOrOfAnotherSizeAreNamed) {
  TempDir dir;
  const std::string list = make_films(dir, 4, 2, "%06d.jpg", 1);
  ASSERT_EQ(::remove((dir / "film 1/000002.jpg").c_str()), 0);
  test::write_file(dir / "film 2/000002.jpg", "no image");
  write_frame(dir / "film 3/000002.jpg", 3, 2, {3, 4, 6});
  OpenedLayer layer(video_layer(list, dir, "new_length: 2 use_image: true"));
  EXPECT_NO_THROW(layer->prepare(nth_pass(0, 1)));
  const auto error_at = [&](uint64_t k) { return error_of([&] { layer->prepare(nth_pass(k, 1)); }); };
  const Error missing = error_at(1);
  EXPECT_TRUE(contains(missing.cause(), "film 1, line 2 in " + list + ": "));
  EXPECT_TRUE(contains(missing.cause(), "film 1/000002.jpg"));
  EXPECT_TRUE(contains(error_at(2).cause(), "film 2, line 3"));
  EXPECT_TRUE(contains(error_at(2).cause(), "its 000002.jpg: "));
  EXPECT_TRUE(contains(error_at(3).cause(), "its 000002.jpg is 4 x 6 (rows x columns), the first frame 4 x 5"));
  OpenedLayer resized(video_layer(list, dir, "new_length: 2 use_image: true new_height: 3 new_width: 2"));
  EXPECT_EQ(pass_over(resized, nth_pass(3, 1)).shapes[0], (Shape{1, 3, 2, 3, 2}));
}

TEST(VideoDataTest, FilesOfFilmsHaveAWayRound) {
  TempDir dir;
  test::write_file(dir / "film.avi", "RIFF");
  test::write_file(dir / "list.txt", "film.avi 1 0\n");
  const Error error = error_of([&] { OpenedLayer(video_layer(dir / "list.txt", dir, "new_length: 2")); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_TRUE(contains(error.cause(), "film.avi, line 1 in " + (dir / "list.txt") + ": it is a film"));
  EXPECT_TRUE(contains(error.fix(), "ffmpeg")) << error.fix();
}

TEST(VideoDataTest, SettingsThatCannotBe) {
  TempDir dir;
  const std::string list = make_films(dir, 1, 2, "%06d.jpg", 1);
  const auto field_of = [&](const std::string& settings, const std::string& transform = "") {
    return error_of([&] { OpenedLayer(video_layer(list, dir, settings, transform)); }).field();
  };
  EXPECT_EQ(field_of("batch_size: 0"), "video_data_param.batch_size");
  EXPECT_EQ(field_of("new_length: 0"), "video_data_param.new_length");
  EXPECT_EQ(field_of("new_length: 4294967295"), "video_data_param.new_length");
  EXPECT_EQ(field_of("new_length: 60000 num_segments: 60000"), "video_data_param.new_length");
  EXPECT_EQ(field_of("num_segments: 0"), "video_data_param.num_segments");
  EXPECT_EQ(field_of("sampling_rate: 0"), "video_data_param.sampling_rate");
  EXPECT_EQ(field_of("use_sampling_rate_jitter: true max_sampling_rate: 0"), "video_data_param.max_sampling_rate");
  EXPECT_EQ(field_of("use_multiple_label: true"), "video_data_param.num_of_labels");
  EXPECT_EQ(field_of("new_height: 3"), "video_data_param.new_width");
  EXPECT_EQ(field_of("modality: RGB name_pattern: 'x'"), "video_data_param.name_pattern");
  EXPECT_EQ(field_of("use_image: true", "distort_param { brightness_prob: 1 }"), "transform_param.distort_param");
  EXPECT_EQ(field_of("use_image: true skip_frames: 2"), "video_data_param.skip_frames");
}

TEST(VideoDataTest, SyntheticClips) {
  TempDir dir;
  const SourceOptions synthesize{.data = {.synthesize_missing = true}};
  const auto shapes = [&](const std::string& settings, const std::string& transform) {
    OpenedLayer layer(video_layer("/nowhere/list.txt", dir, settings, transform), synthesize);
    return pass_over(layer, nth_pass(0, 2)).shapes;
  };
  EXPECT_EQ(shapes("batch_size: 2 new_length: 5 num_segments: 3 modality: FLOW", "crop_size: 14"),
            (std::vector<Shape>{{2, 30, 14, 14}, {2}}));
  EXPECT_EQ(shapes("batch_size: 2 new_length: 16 new_height: 8 new_width: 9 use_image: true", ""),
            (std::vector<Shape>{{2, 3, 16, 8, 9}, {2}}));
  EXPECT_EQ(shapes("new_length: 4 use_multiple_label: true num_of_labels: 6", "crop_size: 3"),
            (std::vector<Shape>{{1, 3, 4, 3, 3}, {1, 6}}));
}

}  // namespace
}  // namespace robusta::video_data_test
