// Nets as text on their way to a device: looked at by lint, and brought into every form that needs no weights.

#include <sstream>

#include "exchange/deploy/deploy.h"
#include "exchange/deploy/lint.h"
#include "exchange/deploy/plain_form.h"
#include "exchange/deploy/rules.h"
#include "fuzz.h"
#include "schema/print.h"
#include "schema/read_text.h"

namespace robusta::fuzz {
namespace {

/// What has been written is a net.
void rewrite(const NetDef& def) {
  deploy::DeployNet net = deploy::DeployNet::of(deploy::layers_in_state(def, {}));
  deploy::remove_heads(net, false);
  deploy::keep_outputs(net, {});
  deploy::make_inputs(net, 1, {});
  deploy::remove_identities(net);
  deploy::remove_training_fields(net);
  deploy::normalise_batch_norms(net);
  deploy::mend(net, deploy::kAll);
  const NetDef written = parse_net(text_form(net.file_form().net), "written.prototxt");
  try {
    deploy::build_net(deploy::layers_in_state(written, {}), 0, true);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kConfig) throw std::logic_error(std::string("no net was written: ") + error.what());
    throw;
  }
}

void deploy_net_text(std::string_view input) {
  std::ostringstream out;
  const std::string path = file_of(input);
  reads([&] { deploy::lint({path}, deploy::kAll, {}, out); });
  reads([&] { rewrite(parse_net(std::string(input), "net.prototxt")); });
}

[[maybe_unused]] const bool registered_deploy = register_target("deploy", deploy_net_text);

}  // namespace
}  // namespace robusta::fuzz
