/// How many batches came before a pass: what layers anneal by that count forward passes in Caffe (LabelSpecificAdd,
/// MarginInnerProduct).
///
/// It follows from the position of the pass, so that a resumed run goes on where it was.
#pragma once

#include <cstdint>

#include "layers/kit/kernel.h"

namespace robusta {

/// Samples from a batch of this rank to its next one, those of other ranks between them included; at least 1.
inline uint64_t samples_between(const Pass& pass) {
  return pass.next_sample > pass.first_sample ? pass.next_sample - pass.first_sample : 1;
}

/// For the host; on a GPU the position of the pass lies in device memory (KernelRun::first_sample).
inline uint64_t batches_before(const Pass& pass) { return pass.first_sample / samples_between(pass); }

}  // namespace robusta
