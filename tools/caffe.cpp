// caffe: trains, tests and times nets.

#include "address_space.h"
#include "app/commands/commands.h"
#include "base/standard_streams.h"
#include "brief_spin.h"
#include "comm/affinity/omp_environment.h"

int main(int argc, char** argv) {
  robusta::keep_standard_streams();
  robusta::apply_omp_environment(argv);
  return robusta::caffe_main(argc, argv);
}
