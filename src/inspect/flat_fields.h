/// The fields of a message as paths with their values, for comparing two of them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <google/protobuf/message.h>

namespace robusta {

/// "convolution_param.num_output" -> "20", "bottom[1]" -> "\"label\"".
using FlatFields = std::map<std::string, std::string>;

/// A field that says its default counts as absent. Fields named `except` at the top are left out.
FlatFields flat_fields(const google::protobuf::Message& message, const std::set<std::string>& except = {});

/// "num_output: 20 -> 50", "bias_term: absent -> false", in the order of the paths.
std::vector<std::string> changed_fields(const FlatFields& before, const FlatFields& after);

}  // namespace robusta
