/// Who is told which step of a net runs: the other ranks, and the timeline.
#pragma once

#include <memory>
#include <vector>

#include "solver/loop/training.h"

namespace robusta {

/// The other ranks are told where this one is in these nets; nobody when it is alone.
void tell_ranks(Ranks& ranks, const std::vector<Net*>& nets);

/// The steps of the train net are recorded, too. REQUIRES: training.recorder.
void record_steps(Training& training);

}  // namespace robusta
