/// The values of a summary, as TensorBoard's dashboards want them. Pure functions.
#pragma once

#include <span>
#include <string>

#include <google/protobuf/message.h>

#include "tensorboard.pb.h"

namespace robusta {

void add_scalar(tensorboard::Summary& summary, const std::string& tag, double value);

/// 64 buckets of one width from the least value to the greatest. Values that are not finite are left out; where there
/// is no other, nothing is added.
void add_histogram(tensorboard::Summary& summary, const std::string& tag, std::span<const float> values);

/// The fields of `settings` that hold one number, text or switch, and `more`, as the hyper-parameters of a run that
/// begins now.
void add_hparams(tensorboard::Summary& summary, const google::protobuf::Message& settings,
                 std::span<const std::pair<std::string, double>> more);

/// The end of that run.
void add_session_end(tensorboard::Summary& summary, bool success);

}  // namespace robusta
