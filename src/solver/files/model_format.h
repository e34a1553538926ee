/// Formats of model and state files: the contract, and their registry.
///
/// A format is one file in formats/ and registers itself under its name in `snapshot_format`. Files are read by what
/// they hold, whatever their names, and written in the format that the solver asks for. A model and its state are of
/// one format.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/net.h"
#include "schema/array_message.h"
#include "schema/source.h"
#include "schema/weights_file.h"
#include "solver/update/updater.h"

namespace robusta {

class ModelFormat {
 public:
  virtual ~ModelFormat() = default;
  /// For the log: "binary proto file".
  virtual std::string title() const = 0;
  /// How names of files end: ".caffemodel", ".solverstate".
  virtual std::string model_ending() const = 0;
  virtual std::string state_ending() const = 0;
  /// Bytes of the largest file that the format can hold.
  virtual size_t largest_file() const { return SIZE_MAX; }
  /// Whether a file is of this format. `beginning`: its first bytes, kBeginning of them if it has so many.
  virtual bool recognises(std::string_view beginning) const = 0;
  static constexpr size_t kBeginning = 512;

  /// Throws Error{kModel} at the path for a file that is absent, cut or none of these.
  virtual WeightsFile read_model(const std::string& path) const = 0;
  /// With all histories, in the order of Updater::history.
  virtual caffe::SolverState read_state(const std::string& path) const = 0;

  /// Throws Error{kUnsupported} in the layer that the format cannot name or hold.
  virtual void require_possible(const Graph& graph) const {}
  /// Each file is written whole or not at all. Throws Error{kOutput}.
  virtual void write_model(const std::string& path, Net& net, bool with_diffs) const = 0;
  /// The file of a state as a message of which ranks may write the histories together; none: the format has another
  /// form. `state` has no histories yet.
  virtual std::optional<ArrayMessage> state_message(const caffe::SolverState& state, Updater& updater) const {
    return std::nullopt;
  }
  /// `state` has no histories yet.
  virtual void write_state(const std::string& path, caffe::SolverState state, Updater& updater) const = 0;
};

/// At namespace scope: `static const bool registered = register_model_format("HDF5", std::make_unique<Hdf5Format>());`
bool register_model_format(const std::string& name, std::unique_ptr<ModelFormat> format);

std::vector<const ModelFormat*> model_formats();
/// That of `snapshot_format`. Throws Error{kUnsupported} at its line.
const ModelFormat& format_of_solver(const SolverDef& solver);
/// By content. What none recognises, a file that cannot be read too, is left to Caffe's own format, which says what is
/// wrong with it.
const ModelFormat& format_of_file(const std::string& path);
/// Caffe's own.
const ModelFormat& default_format();

}  // namespace robusta
