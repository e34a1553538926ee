/// The tiles of AMX: registers of 16 lines of 64 bytes, which matrix units multiply.
#pragma once

namespace robusta {

/// True if the processor multiplies tiles of bf16, and this process may use them: Linux grants their state to those who
/// ask (Documentation/x86/xstate.rst), which this does.
bool may_use_tiles();

/// All eight tiles of this thread, at their full size, while it lives. Whoever else uses them configures them anew.
/// Does nothing where there are none.
class TilesInUse {
 public:
  TilesInUse();
  ~TilesInUse();
  TilesInUse(const TilesInUse&) = delete;
  TilesInUse& operator=(const TilesInUse&) = delete;
};

}  // namespace robusta
