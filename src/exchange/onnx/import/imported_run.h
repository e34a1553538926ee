/// An imported net, ready to run on the host in phase TEST, with its weights.
#pragma once

#include <memory>

#include "exchange/onnx/import/imported_net.h"
#include "net/net.h"

namespace robusta {

/// Throws what the net's own building throws.
std::unique_ptr<Net> net_of(const ImportedNet& imported);

}  // namespace robusta
