// Writes weights of an older form in the newest one, with their arrays.

#include "run_tool.h"
#include "schema/read_text.h"
#include "schema/weights_file.h"

int main(int argc, char** argv) {
  const std::string usage =
      "Upgrades weights of an older form (caffemodel).\n"
      "    upgrade_net_proto_binary IN OUT";
  return robusta::run_tool(argc, argv, usage, 2, 2, [](const std::vector<std::string>& words) {
    robusta::caffe::NetParameter old;
    robusta::read_binary_proto(words[0], &old, robusta::ErrorKind::kModel);
    robusta::UpgradeNotes notes;
    const robusta::NetDef net = robusta::net_from(old, words[0], &notes);
    for (const std::string& note : notes.done) LOG_INFO << note;
    if (!notes.changed()) LOG_INFO << "The file was in the newest form.";
    robusta::write_weights(words[1], net.param);
    LOG_INFO << "Wrote " << words[1];
    robusta::require_complete(notes, words[0]);
  });
}
