// Writes a solver with `type` in place of the old `solver_type`.

#include "run_tool.h"
#include "schema/print.h"
#include "schema/text_file.h"
#include "schema/upgrade.h"

int main(int argc, char** argv) {
  const std::string usage =
      "Upgrades a solver of an older form (prototxt).\n"
      "    upgrade_solver_proto_text IN OUT";
  return robusta::run_tool(argc, argv, usage, 2, 2, [](const std::vector<std::string>& words) {
    robusta::SolverDef solver;
    solver.file = words[0];
    google::protobuf::TextFormat::ParseInfoTree lines;
    robusta::parse_text(robusta::load_text(words[0]), words[0], &solver.param, &lines);
    if (!robusta::upgrade_solver(&solver)) LOG_INFO << "The solver was in the newest form.";
    robusta::write_text_proto(words[1], solver.param);
    LOG_INFO << "Wrote " << words[1];
  });
}
