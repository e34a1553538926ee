/// Forms of layers that one reader or another does not take (rule_types.cpp says which).
#pragma once

#include "exchange/deploy/deploy_net.h"

namespace robusta::deploy {

#define ROBUSTA_DEPLOY_FORM(name) bool name(const DeployNet& net, int layer)

// Convolution, Deconvolution
ROBUSTA_DEPLOY_FORM(is_over_other_than_channels);
ROBUSTA_DEPLOY_FORM(is_no_image);
ROBUSTA_DEPLOY_FORM(is_of_volumes);
ROBUSTA_DEPLOY_FORM(has_several_bottoms);
ROBUSTA_DEPLOY_FORM(moves_by_single_pixels);
ROBUSTA_DEPLOY_FORM(has_groups_of_several);
// LSTM
ROBUSTA_DEPLOY_FORM(has_a_static_input);
// InnerProduct
ROBUSTA_DEPLOY_FORM(multiplies_the_samples);
ROBUSTA_DEPLOY_FORM(multiplies_other_than_rows);
// Pooling
ROBUSTA_DEPLOY_FORM(has_several_tops);
ROBUSTA_DEPLOY_FORM(leaves_out_a_window);
ROBUSTA_DEPLOY_FORM(leaves_gaps);
ROBUSTA_DEPLOY_FORM(is_stochastic);
// Scale
ROBUSTA_DEPLOY_FORM(is_of_other_axes);
ROBUSTA_DEPLOY_FORM(is_learned_along_other_axes);
ROBUSTA_DEPLOY_FORM(is_by_other_than_channels);
ROBUSTA_DEPLOY_FORM(is_multiplied_from_a_later_axis);
ROBUSTA_DEPLOY_FORM(has_other_than_two_or_four_axes);
// ArgMax, LRN, Power, MVN
ROBUSTA_DEPLOY_FORM(is_other_than_one_place);
ROBUSTA_DEPLOY_FORM(is_within_channels);
ROBUSTA_DEPLOY_FORM(is_constant);
ROBUSTA_DEPLOY_FORM(is_across_channels);
// Concat, Slice, Softmax, Crop, Reshape, Permute, Input: what changes places among samples, or has none
ROBUSTA_DEPLOY_FORM(works_along_the_samples);
ROBUSTA_DEPLOY_FORM(changes_the_samples);
ROBUSTA_DEPLOY_FORM(has_other_than_two_to_four_axes);
ROBUSTA_DEPLOY_FORM(moves_the_samples);
ROBUSTA_DEPLOY_FORM(has_no_samples);

#undef ROBUSTA_DEPLOY_FORM

}  // namespace robusta::deploy
