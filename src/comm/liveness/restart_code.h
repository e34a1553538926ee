/// The exit code by which a program asks whatever started it to start it again.
///
/// Engines decide by the code alone whether a job that ended goes on: to a Kubernetes Job 0 means that all is done, and
/// Kubeflow's training operator begins again above 127 only. Neither is what our codes say (docs/errors.md), so a user
/// names the code that the engine wants. Verdicts and errors keep our own numbers; what a process ends with, and what
/// it says of that, goes through final_code().
#pragma once

namespace robusta {

/// For the process, once, before it starts threads. 0: none, our own codes stay.
void set_restart_code(int code);

/// That of a training that was stopped before its end: the one that was set, or 0, which Caffe's scripts expect.
int restart_code();

/// What the process ends with for one of our own codes: a failure of communication is worth another try.
int final_code(int code);

}  // namespace robusta
