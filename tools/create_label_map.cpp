// Makes a map of labels of a list of names.

#include "data/convert/name_files.h"
#include "run_tool.h"

namespace {

struct Flags : robusta::FlagSet {
  robusta::Flag<bool> include_background{this, "include_background", false, "put none_of_the_above in front, label 0"};
  robusta::Flag<std::string> delimiter{this, "delimiter", " ", "between the words of a line"};
};

}  // namespace

int main(int argc, char** argv) {
  const std::string usage =
      "Makes a map of labels (LabelMap, text) of lines \"name [label] [display name]\".\n"
      "    create_label_map [FLAGS] MAP_FILE OUT_FILE";
  Flags flags;
  return robusta::run_tool(argc, argv, usage, 2, 2, flags, [&](const std::vector<std::string>& words) {
    if (flags.delimiter().size() != 1)
      throw robusta::Error(robusta::ErrorKind::kUsage, "-delimiter is one character", "give one");
    const int64_t items =
        robusta::create_label_map(words[0], words[1], flags.delimiter()[0], flags.include_background());
    LOG_INFO << "Wrote " << items << " labels to " << words[1] << ".";
  });
}
