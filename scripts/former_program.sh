#!/usr/bin/env bash
# The programs that Caffe had before there was `caffe`: names the action that does their work now. Linked under the
# names train_net, test_net, finetune_net, net_speed_benchmark and device_query.
name=$(basename "$0")
case $name in
  train_net) instead="caffe train -solver SOLVER.prototxt [-snapshot STATE.solverstate]" ;;
  finetune_net) instead="caffe train -solver SOLVER.prototxt -weights MODEL.caffemodel" ;;
  test_net) instead="caffe test -model NET.prototxt -weights MODEL.caffemodel [-iterations 50] [-gpu 0]" ;;
  net_speed_benchmark) instead="caffe time -model NET.prototxt [-iterations 50] [-gpu 0]" ;;
  device_query) instead="caffe device_query [-gpu 0]" ;;
  *) instead="caffe --help" ;;
esac
echo "$name: this program is part of caffe now; use: $instead" >&2
exit 1
