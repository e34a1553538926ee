// Text is parsed with a tree of places, brought into the newest form, and filled with what Caffe assumes when the file
// says nothing.

#include "schema/read_text.h"

#include "base/log.h"
#include "base/str.h"
#include "robusta/error.h"
#include "schema/dialect.h"
#include "schema/field_lines.h"
#include "schema/finite_fields.h"
#include "schema/has_phases.h"
#include "schema/repeated_windows.h"
#include "schema/snapshot_prefix.h"
#include "schema/text_file.h"
#include "schema/unread_fields.h"

namespace robusta {

using ParseInfoTree = google::protobuf::TextFormat::ParseInfoTree;

namespace {

template <typename Layers>
void collect_layers(const Layers& layers, const char* list, const ParseInfoTree& tree, NetDef* net) {
  const auto* field = net->param.GetDescriptor()->FindFieldByName(list);
  for (int i = 0; i < layers.size(); ++i) {
    LayerSource source{net->file, tree.GetLocation(field, i).line + 1, {}};
    if (const ParseInfoTree* nested = tree.GetTreeForNested(field, i))
      collect_lines(layers[i], *nested, "", &source.fields);
    net->sources.push_back(std::move(source));
  }
}

void upgrade(NetDef* net, UpgradeNotes* wanted) {
  const UpgradeNotes notes = upgrade_net(net);
  refuse_not_finite(*net);
  if (wanted) {
    *wanted = notes;
    return;
  }
  for (const std::string& note : notes.done) LOG_INFO << net->file << ": " << note;
  for (const std::string& note : notes.dropped) LOG_WARNING << net->file << ": " << note;
}

/// Lines of layers and of the net itself.
void collect_places(const ParseInfoTree& tree, NetDef* net) {
  collect_layers(net->param.layers(), "layers", tree, net);
  collect_layers(net->param.layer(), "layer", tree, net);
  net->param.layers_size() > 0 ? collect_lines(net->param, tree, "", &net->fields, "layers")
                               : collect_lines(net->param, tree, "", &net->fields, "layer");
}

/// Of a text with `first` for its first error: throws all that the schema lacks, or that error.
[[noreturn]] void refuse_unread(const std::string& text, const std::string& name, const Error& first) {
  NetDef rest;
  rest.file = name;
  ParseInfoTree tree;
  MissingReport report;
  for (Error& error : parse_what_is_known(text, name, &rest.param, &tree)) report.add(std::move(error));
  if (report.empty() || rest.param.layer_size() + rest.param.layers_size() == 0) throw first;  // no net at all
  try {
    collect_places(tree, &rest);
    upgrade_net(&rest);
  } catch (const Error&) {
    rest.param.clear_layer();
    rest.sources.clear();
  }
  throw UnreadFields(std::move(report), std::move(rest));
}

NetDef unupgraded(const caffe::NetParameter& param, const std::string& file) {
  NetDef net;
  net.param = param;
  net.file = file;
  net.sources.assign(static_cast<size_t>(param.layers_size() + param.layer_size()), LayerSource{file, 0, {}});
  return net;
}

/// What lies below `prefix`, by its path from there.
FieldLines lines_below(const FieldLines& all, const std::string& prefix) {
  FieldLines lines;
  for (auto at = all.lower_bound(prefix); at != all.end() && at->first.starts_with(prefix); ++at)
    lines.insert_or_assign(at->first.substr(prefix.size()), at->second);
  return lines;
}

void refuse_phases(const std::string& text, const std::string& name) {
  if (!has_phases(text)) return;
  throw Error(ErrorKind::kConfig, "the file has several phases of training (params_pair)",
              "caffe train and caffe check take it; elsewhere give a file of one solver")
      .at(name);
}

}  // namespace

NetDef read_net(const std::string& path, UpgradeNotes* notes) {
  NetDef net = parse_net(load_text(path), path, notes);
  if (net.param.layer_size() == 0)
    throw Error(ErrorKind::kConfig, "the net has no layers", "add layer { ... } blocks").at(path);
  return net;
}

NetDef parse_net(const std::string& text, const std::string& name, UpgradeNotes* notes) {
  NetDef net;
  net.file = name;
  ParseInfoTree tree;
  const std::string named = name_repeated_windows(text);
  try {
    parse_text(named, name, &net.param, &tree);
  } catch (const Error& error) {
    refuse_unread(named, name, error);
  }
  collect_places(tree, &net);
  upgrade(&net, notes);
  return net;
}

NetDef net_from(const caffe::NetParameter& param, const std::string& file, UpgradeNotes* notes) {
  NetDef net = unupgraded(param, file);
  upgrade(&net, notes);
  return net;
}

NetDef net_inside(const SolverDef& solver, const std::string& field, const caffe::NetParameter& param) {
  NetDef net = unupgraded(param, solver.file);
  const std::string list = param.layers_size() > 0 ? "layers" : "layer", inside = field + ".";
  for (size_t i = 0; i < net.sources.size(); ++i) {
    const std::string layer = str(inside, list, "[", i, "]");
    if (const auto at = solver.lines.find(layer); at != solver.lines.end()) net.sources[i].line = at->second;
    net.sources[i].fields = lines_below(solver.lines, layer + ".");
  }
  net.fields = lines_below(solver.lines, inside);
  upgrade(&net, nullptr);
  return net;
}

SolverDef read_solver(const std::string& path) { return parse_solver(load_text(path), path); }

SolverDef parse_solver(const std::string& text, const std::string& name) {
  SolverDef solver;
  solver.file = name;
  refuse_phases(text, name);
  ParseInfoTree tree;
  parse_text(text, name, &solver.param, &tree);
  collect_lines(solver.param, tree, "", &solver.lines);
  upgrade_solver(&solver);
  settle_dialect(&solver.param);
  solver.param.set_snapshot_prefix(complete_prefix(solver.param.snapshot_prefix(), solver.file));
  return solver;
}

}  // namespace robusta
