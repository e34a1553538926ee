/// Names that the community's forks of Caffe have and the schema lacks: tables, and who has a name.
///
/// Each name is there once per table: known_names.h asks its own tables first and these afterwards.
#pragma once

#include <optional>
#include <string_view>

namespace robusta {

/// "SegNet, Synopsys": the forks that have it. None where no fork does.
std::optional<std::string_view> fork_of_layer(std::string_view type);
/// Of `layers { type: ... }`, the old form.
std::optional<std::string_view> fork_of_old_layer(std::string_view type);
/// Of the field `name` of `message`; of any message where `message` is "".
std::optional<std::string_view> fork_of_field(std::string_view message, std::string_view name);
/// Of a value of any enum.
std::optional<std::string_view> fork_of_value(std::string_view value);

/// Whether `name` is one of `names`, which stand between single blanks.
bool is_listed(std::string_view names, std::string_view name);

}  // namespace robusta
