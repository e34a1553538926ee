// Files of boxes: what is read of them, what is refused, and databases made of them.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "base/str.h"
#include "data/annotated_datum.h"
#include "data/convert/annotation_set.h"
#include "data/convert/text_tree.h"
#include "data/lmdb/lmdb_reader.h"
#include "sample_db.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/places.h"

namespace robusta::convert_annotations_test {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::error_of;
using test::TempDir;
using test::write_file;

TEST(XmlTest, ElementsAndTheirText) {
  const TextTree root = parse_xml(
      "\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!DOCTYPE a>\n<!-- a < b -->\n<a x=\"1\" y='>'>one<b/><c>t&#119;o &amp; "
      "&#x41;<!-- no --><![CDATA[<3>]]></c >\n<b>4</b></a>\n",
      "a.xml");
  EXPECT_EQ(root.name, "a");
  EXPECT_EQ(root.text, "one\n");
  ASSERT_EQ(root.children.size(), 3u);
  EXPECT_EQ(root.children[0].name, "b");
  EXPECT_EQ(root.find("c")->text, "two & A<3>");
  EXPECT_EQ(root.find("c")->line, 4);
  EXPECT_EQ(root.children[2].line, 5);
  EXPECT_EQ(root.find("d"), nullptr);
}

TEST(XmlTest, WhatIsNotWellFormed) {
  for (const char* text : {"",
                           "   ",
                           "text",
                           "<",
                           "<a",
                           "<a>",
                           "<a><b></a>",
                           "<a></b>",
                           "<a/><b/>",
                           "<a>&none;</a>",
                           "<a>&amp",
                           "<a b></a>",
                           "<a b=1/>",
                           "<a b=\"1/>",
                           "<a><!-- </a>",
                           "<a><![CDATA[</a>",
                           "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>",
                           "<a>&#xd800;</a>",
                           "<a>&#0;</a>",
                           "<a>&#99999999999;</a>",
                           "< a/>",
                           "<?xml <a/>"}) {
    const Error error = error_of([&] { parse_xml(text, "a.xml"); });
    EXPECT_EQ(error.kind(), ErrorKind::kData) << text;
    EXPECT_TRUE(contains(error.what(), "a.xml:1")) << text;
  }
  std::string deep;
  for (int i = 0; i < 200000; ++i) deep += "<a>";
  EXPECT_EQ(error_of([&] { parse_xml(deep, "a.xml"); }).cause(), "elements are nested too deeply");
}

TEST(JsonTest, Values) {
  const TextTree root = parse_json(
      "{ \"a\": [1, -2.5e3, true, null], \"b\\n\": \"\\u00e4\\ud83d\\ude00\\\"\",\n \"c\": {}, \"d\": [] }", "a.json");
  ASSERT_EQ(root.children.size(), 4u);
  ASSERT_EQ(root.find("a")->children.size(), 4u);
  EXPECT_EQ(root.find("a")->children[1].text, "-2.5e3");
  EXPECT_EQ(root.find("b\n")->text, "\xc3\xa4\xf0\x9f\x98\x80\"");
  EXPECT_EQ(root.find("c")->line, 2);
}

TEST(JsonTest, WhatIsNoJson) {
  for (const char* text : {"",           "{",     "[",   "[1",  "[1,]",    "{\"a\"}",   "{\"a\":}",
                           "{\"a\":1,}", "{a:1}", "1 2", "\"a", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"",
                           "nan",        "inf",   "tru", "+1",  "[1 2]",   "\"a\nb\"",  "--1"}) {
    EXPECT_EQ(error_of([&] { parse_json(text, "a.json"); }).kind(), ErrorKind::kData) << text;
  }
  EXPECT_EQ(error_of([&] { parse_json(std::string(200000, '['), "a.json"); }).cause(), "values are nested too deeply");
}

constexpr char kLabelMap[] =
    "item { name: 'none_of_the_above' label: 0 display_name: 'background' } item { name: 'cat' label: 8 } "
    "item { name: 'dog' label: 12 } item { name: '18' label: 3 }";
const std::map<std::string, int32_t> kLabels{{"cat", 8}, {"dog", 12}, {"18", 3}};

TEST(LabelMapTest, NamesAndLabels) {
  TempDir dir;
  write_file(dir / "map", kLabelMap);
  EXPECT_EQ(read_label_map(dir / "map", true).at("dog"), 12);
  write_file(dir / "map", std::string(kLabelMap) + " item { name: 'cat' label: 9 }");
  EXPECT_EQ(read_label_map(dir / "map", false).at("cat"), 9) << "the last one counts, as in SSD";
  EXPECT_EQ(error_of([&] { read_label_map(dir / "map", true); }).cause(), "the name \"cat\" comes twice");
  write_file(dir / "map", "item { nam: 'cat' }");
  EXPECT_EQ(error_of([&] { read_label_map(dir / "map", false); }).kind(), ErrorKind::kConfig);
  EXPECT_EQ(error_of([&] { read_label_map(dir / "none", false); }).kind(), ErrorKind::kConfig);
}

/// "label instance xmin ymin xmax ymax difficult" of each box, in order.
std::vector<std::string> boxes_of(const caffe::AnnotatedDatum& record) {
  std::vector<std::string> boxes;
  for (const auto& group : record.annotation_group()) {
    for (const auto& annotation : group.annotation()) {
      const auto& b = annotation.bbox();
      boxes.push_back(str(group.group_label(), " ", annotation.instance_id(), " ", b.xmin(), " ", b.ymin(), " ",
                          b.xmax(), " ", b.ymax(), " ", b.difficult() ? 1 : 0));
    }
  }
  return boxes;
}

using Boxes = std::vector<std::string>;

class AnnotationFilesTest : public ::testing::Test {
 protected:
  Boxes read(const std::string& text, AnnotationFormat format) {
    write_file(dir_ / "file", text);
    caffe::AnnotatedDatum record;
    read_annotations(dir_ / "file", format, {3, 100, 200}, kLabels, record);
    return boxes_of(record);
  }
  Error error_in(const std::string& text, AnnotationFormat format) {
    return error_of([&] { read(text, format); });
  }

  TempDir dir_;
};

std::string voc(const std::string& objects) {
  return "<annotation>\n<size><width>200</width><height>100</height><depth>3</depth></size>\n" + objects +
         "</annotation>\n";
}

std::string object(const std::string& name, const std::string& box, const std::string& more = "") {
  return "<object><name>" + name + "</name>" + more +
         "<part><name>head</name><bndbox><xmin>1</xmin></bndbox></part><bndbox>" + box + "</bndbox></object>\n";
}

constexpr char kBox[] = "<xmin>20</xmin><ymin>10</ymin><xmax>100</xmax><ymax>50</ymax>";

TEST_F(AnnotationFilesTest, Xml) {
  EXPECT_EQ(read(voc(object("dog", kBox) + object("cat", kBox, "<difficult>1</difficult>") +
                     object("dog", "<ymax>100</ymax><xmax>50</xmax><ymin>75</ymin><xmin>0</xmin>")),
                 AnnotationFormat::kXml),
            (Boxes{"12 0 0.1 0.1 0.5 0.5 0", "12 1 0 0.75 0.25 1 0", "8 0 0.1 0.1 0.5 0.5 1"}));
  EXPECT_EQ(read("<annotation>" + object(" cat\n", kBox) + "</annotation>", AnnotationFormat::kXml),
            (Boxes{"8 0 0.1 0.1 0.5 0.5 0"}))
      << "without a size that of the image counts";
  EXPECT_EQ(
      read("<annotation><size><width>400</width><height>100</height></size>" + object("cat", kBox) + "</annotation>",
           AnnotationFormat::kXml),
      (Boxes{"8 0 0.05 0.1 0.25 0.5 0"}))
      << "the size in the file counts";
}

TEST_F(AnnotationFilesTest, DamagedXml) {
  const auto cause = [&](const std::string& text) -> std::string {
    return error_in(text, AnnotationFormat::kXml).what();
  };
  EXPECT_TRUE(contains(cause(voc(object("cow", kBox))), str(dir_ / "file", ":3")));
  EXPECT_TRUE(contains(cause(voc(object("cow", kBox))), "the label map has no item \"cow\""));
  EXPECT_TRUE(contains(cause(voc("<object></object>")), "an object has no name"));
  EXPECT_TRUE(contains(cause(voc("<object><name>cat</name></object>")), "an object has no <bndbox>"));
  EXPECT_TRUE(contains(cause(voc(object("cat", "<xmin>wide</xmin>"))), "\"wide\" of \"xmin\" is no number"));
  EXPECT_TRUE(contains(cause(voc(object("cat", "<xmin>nan</xmin>"))), "is no number"));
  EXPECT_TRUE(contains(cause("<annotation><size><width>0</width></size></annotation>"), "an image of 0 x 100 pixels"));
  EXPECT_TRUE(contains(cause("<xml/>"), "<xml> is no <annotation>"));
}

TEST_F(AnnotationFilesTest, BoxesThatCannotBeAreLeftOut) {
  const Boxes want{"8 0 0.1 0.1 0.5 0.5 0", "8 1 -0.1 0.5 0.5 1.5 0"};
  EXPECT_EQ(read(voc(object("cat", kBox) + object("cat", "<xmin>9</xmin><xmax>3</xmax><ymin>1</ymin><ymax>2</ymax>") +
                     object("cat", "<xmin>3</xmin><xmax>3</xmax><ymin>1</ymin><ymax>2</ymax>") +
                     object("cat", "<xmin>300</xmin><xmax>400</xmax><ymin>1</ymin><ymax>2</ymax>") +
                     object("cat", "<xmin>-20</xmin><xmax>100</xmax><ymin>50</ymin><ymax>150</ymax>")),
                 AnnotationFormat::kXml),
            want);
}

TEST_F(AnnotationFilesTest, Json) {
  EXPECT_EQ(read("{ \"image\": {\"width\": 200, \"height\": 100, \"file_name\": \"a.jpg\"}, \"annotation\": ["
                 "{\"bbox\": [20, 10, 80, 40.0], \"category_id\": 18, \"iscrowd\": 0, \"segmentation\": [[1, 2, 3]]},"
                 "{\"bbox\": [0, 0, 200, 100], \"category_id\": 18, \"iscrowd\": 1}] }",
                 AnnotationFormat::kJson),
            (Boxes{"3 0 0.1 0.1 0.5 0.5 0", "3 1 0 0 1 1 1"}));
  EXPECT_TRUE(contains(
      error_in("{\"annotation\": [{\"category_id\": 5, \"bbox\": [1, 2, 3, 4]}]}", AnnotationFormat::kJson).what(),
      "the label map has no item \"5\""));
  EXPECT_TRUE(contains(
      error_in("{\"annotation\": [{\"category_id\": 18, \"bbox\": [1, 2, 3]}]}", AnnotationFormat::kJson).what(),
      "no \"bbox\" of four numbers"));
  EXPECT_TRUE(contains(error_in("{}", AnnotationFormat::kJson).what(), "there is no \"annotation\""));
}

TEST_F(AnnotationFilesTest, Text) {
  EXPECT_EQ(read("7 20 10 100 50\n\n  3 0 0 200 100\r\n7 100 50 200 100\n", AnnotationFormat::kText),
            (Boxes{"7 0 0.1 0.1 0.5 0.5 0", "7 1 0.5 0.5 1 1 0", "3 0 0 0 1 1 0"}));
  EXPECT_TRUE(contains(error_in("7 20 10 100 50\n7 20 10 100", AnnotationFormat::kText).what(), ":2"));
  EXPECT_TRUE(contains(error_in("7.5 20 10 100 50", AnnotationFormat::kText).what(), "7.5 is no label"));
  EXPECT_TRUE(contains(error_in("cat 20 10 100 50", AnnotationFormat::kText).what(), "is no number"));
}

/// Three images of 10 x 20 pixels with a file of boxes each, and a list.
AnnotationSetOptions make_annotations(const TempDir& dir) {
  write_file(dir / "map", kLabelMap);
  std::string list;
  for (int i = 0; i < 3; ++i) {
    write_file(dir / str("i", i, ".png"),
               encode_image(test::random_image({3, 10, 20}, static_cast<uint64_t>(i)), ImageFormat::kPng));
    write_file(
        dir / str("a", i, ".xml"),
        "<annotation>" + object("cat", "<xmin>5</xmin><ymin>5</ymin><xmax>10</xmax><ymax>10</ymax>") + "</annotation>");
    list += str("i", i, ".png  a", i, ".xml\n");
  }
  write_file(dir / "list", list);
  AnnotationSetOptions options;
  options.root = dir / "";
  options.list = dir / "list";
  options.folder = dir / "db";
  options.detection = true;
  options.label_map = dir / "map";
  return options;
}

std::vector<caffe::AnnotatedDatum> records_in(const std::string& folder) {
  const auto reader = LmdbReader::open(folder);
  std::vector<caffe::AnnotatedDatum> records;
  std::string storage;
  for (int64_t i = 0; i < reader->size(); ++i) {
    caffe::AnnotatedDatum& record = records.emplace_back();
    EXPECT_TRUE(record.ParseFromString(std::string(reader->record(i, storage))));
  }
  return records;
}

TEST(AnnotationSetTest, Boxes) {
  TempDir dir;
  AnnotationSetOptions options = make_annotations(dir);
  const auto result = convert_annotation_set(options);
  EXPECT_EQ(result.written, 3);
  EXPECT_EQ(result.boxes, 3);
  EXPECT_EQ(LmdbReader::open(dir / "db")->key(2), "00000002_i2.png");
  const auto records = records_in(dir / "db");
  EXPECT_EQ(boxes_of(records[1]), (Boxes{"8 0 0.25 0.5 0.5 1 0"}));
  EXPECT_TRUE(records[1].has_type());
  EXPECT_EQ(records[1].datum().label(), -1);
  EXPECT_EQ(records[1].datum().width(), 20);
  EXPECT_EQ(records[1].datum().data().size(), 600u);
  EXPECT_EQ(parse_annotated_datum(records[1].SerializeAsString()).boxes.size(), 1u);
}

TEST(AnnotationSetTest, BoxesArePartsOfTheImageBeforeItIsResized) {
  TempDir dir;
  AnnotationSetOptions options = make_annotations(dir);
  options.image.min_dim = 30;
  options.image.encoded = true;
  convert_annotation_set(options);
  const auto records = records_in(dir / "db");
  EXPECT_EQ(boxes_of(records[0]), (Boxes{"8 0 0.25 0.5 0.5 1 0"}));
  EXPECT_EQ(image_extent(records[0].datum().data(), ColorMode::kColor), (Extent{3, 30, 60}));
  EXPECT_EQ(records[0].datum().height(), 30);
}

TEST(AnnotationSetTest, LeastAndGreatestSides) {
  TempDir dir;
  const auto size = [&](int64_t min_dim, int64_t max_dim) {
    AnnotationSetOptions options = make_annotations(dir);
    options.folder = dir / str("db", min_dim, "_", max_dim);
    options.image.min_dim = min_dim;
    options.image.max_dim = max_dim;
    convert_annotation_set(options);
    const caffe::Datum datum = records_in(options.folder)[0].datum();
    return std::pair{datum.height(), datum.width()};
  };
  EXPECT_EQ(size(5, 0), (std::pair{10, 20})) << "large enough";
  EXPECT_EQ(size(15, 0), (std::pair{15, 30}));
  EXPECT_EQ(size(0, 10), (std::pair{5, 10}));
  EXPECT_EQ(size(15, 24), (std::pair{12, 24})) << "the greatest side goes first";
}

TEST(AnnotationSetTest, Classes) {
  TempDir dir;
  AnnotationSetOptions options = make_annotations(dir);
  write_file(dir / "list", "i0.png 4\ni1.png 5\n");
  options.detection = false;
  EXPECT_EQ(convert_annotation_set(options).written, 2);
  const auto records = records_in(dir / "db");
  EXPECT_EQ(records[1].datum().label(), 5);
  EXPECT_FALSE(records[1].has_type());
  write_file(dir / "list", "i0.png cat\n");
  options.folder = dir / "other";
  EXPECT_TRUE(contains(error_of([&] { convert_annotation_set(options); }).what(), "\"cat\" is no class"));
}

TEST(AnnotationSetTest, DamagedFilesOfBoxesStopIt) {
  TempDir dir;
  const AnnotationSetOptions options = make_annotations(dir);
  write_file(dir / "a1.xml", "<annotation><object>");
  const Error error = error_of([&] { convert_annotation_set(options); });
  EXPECT_EQ(error.kind(), ErrorKind::kData);
  EXPECT_TRUE(contains(error.what(), "a1.xml:1"));
  EXPECT_FALSE(fs::exists(dir / "db"));
  fs::remove(dir / "a1.xml");
  EXPECT_TRUE(contains(error_of([&] { convert_annotation_set(options); }).what(), "a1.xml"));
}

TEST(AnnotationSetTest, UnreadableImagesAreSkipped) {
  TempDir dir;
  const AnnotationSetOptions options = make_annotations(dir);
  fs::resize_file(dir / "i0.png", 20);
  const auto result = convert_annotation_set(options);
  EXPECT_EQ(result.written, 2);
  EXPECT_EQ(result.skipped, 1);
}

TEST(AnnotationSetTest, Lists) {
  TempDir dir;
  const AnnotationSetOptions options = make_annotations(dir);
  write_file(dir / "list", "i0.png a0.xml\ni1.png\n");
  EXPECT_TRUE(contains(error_of([&] { convert_annotation_set(options); }).what(), "list:2"));
  write_file(dir / "list", "\n");
  EXPECT_TRUE(contains(error_of([&] { convert_annotation_set(options); }).what(), "the list names no image"));
}

int run_annoset(const std::string& arguments) {
  return WEXITSTATUS(std::system((test::tools_dir() + "/convert_annoset " + arguments + " > /dev/null 2>&1").c_str()));
}

TEST(AnnotationToolTest, ExitCodes) {
  if (!fs::exists(test::tools_dir() + "/convert_annoset")) GTEST_SKIP() << "the tools are not built";
  TempDir dir;
  const AnnotationSetOptions set = make_annotations(dir);
  const std::string words = set.root + " " + set.list + " ", map = " --label_map_file=" + set.label_map;
  EXPECT_EQ(run_annoset(words), 1);
  EXPECT_EQ(run_annoset("--anno_type=detection --label_type=xml --check_label" + map +
                        " --min_dim=0 --max_dim=0 --resize_width=30 "
                        "--resize_height=30 --backend=lmdb --shuffle=False --check_size --encode_type=jpg "
                        "--encoded=True --gray=False " +
                        words + (dir / "a")),
            0);
  EXPECT_EQ(records_in(dir / "a").size(), 3u);
  EXPECT_EQ(run_annoset("--anno_type=detection --backend=rocksdb" + map + " " + words + (dir / "b")), 1);
  EXPECT_EQ(run_annoset("--anno_type=detection --backend=leveldb" + map + " " + words + (dir / "level")), 0);
  EXPECT_TRUE(fs::exists(dir / "level/CURRENT"));
  EXPECT_EQ(run_annoset("--anno_type=segmentation " + words + (dir / "b")), 1);
  EXPECT_EQ(run_annoset("--anno_type=detection --label_type=yaml" + map + " " + words + (dir / "b")), 1);
  EXPECT_EQ(run_annoset("--anno_type=detection " + words + (dir / "b")), 1)
      << "the option for the label map is missing";
  EXPECT_EQ(run_annoset("--anno_type=detection" + map + " " + words + (dir / "a")), 7) << "the folder exists";
}

}  // namespace
}  // namespace robusta::convert_annotations_test
