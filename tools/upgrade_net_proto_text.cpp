// Writes a net of an older form in the newest one, as text.

#include "run_tool.h"
#include "schema/print.h"
#include "schema/read_text.h"

int main(int argc, char** argv) {
  const std::string usage =
      "Upgrades a net of an older form (prototxt).\n"
      "    upgrade_net_proto_text IN OUT";
  return robusta::run_tool(argc, argv, usage, 2, 2, [](const std::vector<std::string>& words) {
    robusta::UpgradeNotes notes;
    const robusta::NetDef net = robusta::read_net(words[0], &notes);
    for (const std::string& note : notes.done) LOG_INFO << note;
    if (!notes.changed()) LOG_INFO << "The net was in the newest form.";
    robusta::write_text_proto(words[1], net.param);
    LOG_INFO << "Wrote " << words[1];
    robusta::require_complete(notes, words[0]);
  });
}
