#!/usr/bin/env bash
# Trains, times or benchmarks as Intel Caffe's script of this name does, on Open MPI or MPICH: same options, same result
# files. It kills and deletes nothing that it did not start or write itself.
#
#   scripts/run_intelcaffe.sh --hostfile HOSTS --caffe_bin build/tools/caffe --solver solver.prototxt --ppn 1
set -uo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() {
  cat << 'END'
run_intelcaffe.sh [options]

  --mode M               train (default), time, inf_time (forward only, phase TEST), none
  --hostfile FILE        one host per line; without it: this host
  --solver FILE          solver prototxt, for train
  --weights FILE         start from these weights
  --snapshot FILE        resume from this solver state, or auto
  --model_file FILE      net prototxt, for time and inf_time
  --iteration N          iterations, for time and inf_time
  --caffe_bin FILE       the program (default: build/tools/caffe of this folder, else caffe in PATH)
  --ppn N                processes on each host (default 1)
  --num_omp_threads N    threads of each process (default 0: all cores of the process)
  --network opa|tcp      opa: Omni-Path where there is one (default); tcp: Ethernet or IP over InfiniBand
  --netmask NAME         network interface, required with tcp
  --engine E             handed on to the program
  --cpu NAME             bdw, skx, clx, knl or knm, for the names of the result files (default: found by lscpu)
  --output FOLDER        result folder (default: result-<date> in the folder you call from)
  --benchmark B          first measure the network: qperf, mpi, all, none (default)
  --mpibench_bin FILE    MPI benchmark (default IMB-MPI1)
  --mpibench_param P     what it measures (default allreduce)
  --mpi_iallreduce_algo N  Intel MPI's number of the algorithm, translated
  --debug on|off         more output about ranks and communication
  --help

  Accepted without effect: --num_mlsl_servers --msg_priority --msg_priority_threshold --internal_thread_pin (they tune
  MLSL; here gradients are reduced by the program's own threads, which stay within the cores of their process).
END
}

fail() {
  printf 'run_intelcaffe.sh: error: %s\n' "$*" >&2
  exit 1
}
note() { printf 'run_intelcaffe.sh: %s\n' "$*" >&2; }

declare -A opt=(
  [hostfile]='' [solver]='' [weights]='' [snapshot]='' [num_omp_threads]=0 [network]=opa [netmask]='' [debug]=off
  [mode]=train [benchmark]=none [iteration]=0 [model_file]='' [num_mlsl_servers]=-1 [internal_thread_pin]=on
  [output]="result-$(date +%Y%m%d%H%M%S)" [mpibench_bin]=IMB-MPI1 [mpibench_param]=allreduce [caffe_bin]='' [cpu]=''
  [engine]='' [msg_priority]=off [msg_priority_threshold]=10000 [mpi_iallreduce_algo]='' [ppn]=1
)
no_effect=(num_mlsl_servers msg_priority msg_priority_threshold internal_thread_pin)

parse() {
  local name value
  while [ $# -gt 0 ]; do
    case $1 in
      --help) usage && exit 0 ;;
      --*=*) name=${1%%=*} value=${1#*=} && shift ;;
      --*)
        [ $# -ge 2 ] || fail "$1 wants a value; --help lists the options"
        name=$1 value=$2 && shift 2
        ;;
      *) fail "$1 is no option; --help lists them" ;;
    esac
    name=${name#--}
    [[ $name =~ ^[a-z_]+$ ]] || fail "--$name is no option; --help lists them"
    [ -n "${opt[$name]+known}" ] || fail "option --$name is not known; --help lists the options"
    opt[$name]=$value
    [[ " ${no_effect[*]} " != *" $name "* ]] || note "--$name $value is ignored: it tunes MLSL, which is not used here"
  done
}

# one_of NAME VALUE...: the option has one of these values.
one_of() {
  local name=$1
  shift
  [[ " $* " == *" ${opt[$name]} "* ]] || fail "--$name ${opt[$name]} is not one of: $*"
}
# number NAME LEAST
number() {
  [[ ${opt[$1]} =~ ^[0-9]{1,9}$ && ${opt[$1]} -ge $2 ]] || fail "--$1 wants a whole number from $2 on, not '${opt[$1]}'"
}
# there NAME: the file named by the option exists, if it was given, and is none that nobody may ever write.
there() {
  local file=${opt[$1]}
  [ -z "$file" ] || [ -e "$file" ] || fail "--$1 $file: there is no such file"
  [ -z "$file" ] || [ -f "$file" ] || fail "--$1 $file: this is no regular file"
}

check_options() {
  one_of mode train time inf_time none
  one_of network opa tcp
  one_of debug on off
  one_of benchmark all qperf mpi none
  [ -z "${opt[cpu]}" ] || one_of cpu bdw knl skx knm clx
  number ppn 1
  number num_omp_threads 0
  number iteration 0
  [ "${opt[network]}" = opa ] || [ -n "${opt[netmask]}" ] ||
    fail "--network tcp needs --netmask, an interface such as eth0"
  [[ ${opt[netmask]} =~ ^([A-Za-z0-9][A-Za-z0-9_.:/,-]*)?$ ]] ||
    fail "--netmask ${opt[netmask]} is neither an interface such as eth0 nor a network such as 10.0.0.0/8"
  [ -z "${opt[mpi_iallreduce_algo]}" ] || number mpi_iallreduce_algo 1
  local name
  for name in hostfile solver weights model_file; do there "$name"; done
  [ "${opt[snapshot]}" = auto ] || there snapshot
  # What begins with a dash would be an option to those that make and fill it.
  [[ ${opt[output]} != -* ]] || opt[output]=./${opt[output]}
  case ${opt[mode]} in
    train) [ -n "${opt[solver]}" ] || fail "--mode train needs --solver" ;;
    time | inf_time)
      [ -n "${opt[model_file]}" ] || fail "--mode ${opt[mode]} needs --model_file"
      number iteration 1
      ;;
  esac
}

find_program() {
  local program=${opt[caffe_bin]}
  [ -n "$program" ] || program=$ROOT/build/tools/caffe
  [ -x "$program" ] || [ -n "${opt[caffe_bin]}" ] || program=$(command -v caffe) || program=$ROOT/build/tools/caffe
  [[ $program == */* ]] || program=$(command -v "$program") || program=./${opt[caffe_bin]}
  if [ ! -x "$program" ] || [ -d "$program" ]; then
    fail "there is no program $program; build it (scripts/quickstart.sh), or give --caffe_bin"
  fi
  opt[caffe_bin]=$program
}

# Physical cores that this process may use.
count_cores() {
  local cores
  cores=$(lscpu -p=CORE,SOCKET 2> /dev/null | grep -v '^#' | sort -u | wc -l)
  [ "$cores" -ge 1 ] && [ "$cores" -lt "$(nproc)" ] || cores=$(nproc)
  echo "$cores"
}

# Intel's short names for its processors, by what they can do.
find_cpu() {
  local flags
  flags=" $(lscpu | sed -n 's/^Flags: *//p') "
  case $flags in
    *' avx512_4vnniw '*) echo knm ;;
    *' avx512er '*) echo knl ;;
    *' avx512f '*) echo skx ;;
    *' avx2 '*) echo bdw ;;
    *) echo cpu ;;
  esac
}

# host_names FILE: the names in a host file, each once. A name becomes a word of ssh and of mpirun, where what begins with
# a dash is an option that may run a command.
host_names() {
  local line name count=0 names=() pattern='^([A-Za-z0-9_][A-Za-z0-9_.-]*@)?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$'
  while IFS= read -r line || [ -n "$line" ]; do
    count=$((count + 1))
    [ "$count" -gt 1 ] || line=${line#$'\xef\xbb\xbf'} # UTF-8's byte order mark, which some editors write
    read -r name _ <<< "${line%%#*}"
    name=${name%%:*}
    name=${name%$'\r'}
    [ -n "$name" ] || continue
    [[ $name =~ $pattern ]] || fail "$1:$count: '$name' is no host name; write names as \`hostname\` prints them"
    names+=("$name")
  done < "$1"
  [ ${#names[@]} -eq 0 ] || printf '%s\n' "${names[@]}" | sort -u
}

# Words that run a command on another host, as mpirun would.
read -r -a agent <<< "${OMPI_MCA_plm_rsh_agent:-ssh -o BatchMode=yes -o ConnectTimeout=10}"
is_here() { [ "$1" = localhost ] || [ "${1%%.*}" = "$(uname -n | cut -d. -f1)" ]; }
check_hosts() {
  local host said
  for host in "${hosts[@]}"; do
    is_here "$host" || said=$("${agent[@]}" "$host" true 2>&1 < /dev/null) ||
      fail "cannot reach $host (${said%%$'\n'*}); it has to let you in without a password: try 'ssh $host true'"
  done
}

# field FILE NAME: the values of a field NAME: "VALUE" of a prototxt.
field() { sed -e 's/#.*//' < "$1" | grep -o "\b$2: *[\"'][^\"']*[\"']" | sed -e "s/^[^\"']*[\"']//" -e "s/[\"']\$//"; }

# The nets that a solver names, and the data that these name, exist.
check_data() {
  local net source nets
  mapfile -t nets < <(if [ "${opt[mode]}" = train ]; then
    for name in net train_net test_net; do field "${opt[solver]}" "$name"; done
  else echo "${opt[model_file]}"; fi)
  for net in "${nets[@]}"; do
    [ -e "$net" ] ||
      fail "${opt[solver]} names the net $net, which is not there; paths are relative to where you call from ($PWD)"
    [ -f "$net" ] || fail "${opt[solver]} names the net $net, which is no regular file"
    while read -r source; do
      [[ $source == *%* ]] || [ -e "$source" ] ||
        fail "$net reads $source, which is not there; make it (convert_imageset IMAGES/ LIST DB), or correct the net"
    done < <(field "$net" source)
  done
}

set_threads() {
  local cores
  cores=$(($(count_cores) / opt[ppn]))
  [ "$cores" -ge 1 ] || cores=1
  if [ "${opt[num_omp_threads]}" -gt "$cores" ]; then
    note "--num_omp_threads ${opt[num_omp_threads]} is more than the $cores cores of a process (--ppn ${opt[ppn]}):" \
      "using $cores"
    opt[num_omp_threads]=$cores
  fi
  # Unset, the program takes all cores it is bound to.
  unset OMP_NUM_THREADS
  [ "${opt[num_omp_threads]}" -eq 0 ] || export OMP_NUM_THREADS=${opt[num_omp_threads]}
}

# launch LOG COMMAND...: runs it with its output also in LOG; signals reach it; its exit code is returned.
launch() {
  local log=$1 pid code copy copier
  shift
  exec {copy}> >(exec tee "$log")
  copier=$!
  "$@" >&"$copy" 2>&1 {copy}>&- < /dev/null &
  pid=$!
  exec {copy}>&-
  trap 'kill -TERM "$pid" 2> /dev/null' TERM HUP
  trap 'kill -INT "$pid" 2> /dev/null' INT
  trap 'kill -USR1 "$pid" 2> /dev/null' USR1
  # A signal ends a wait early.
  while :; do
    wait "$pid"
    code=$?
    kill -0 "$pid" 2> /dev/null || break
  done
  wait "$copier"
  trap - TERM HUP INT USR1
  return "$code"
}

# Options for mpirun in the words of Intel MPI, which scripts/impi/mpirun translates.
mpi_options() {
  mpi=(-l)
  case ${opt[network]} in
    opa) mpi+=(-PSM2) ;;
    tcp) mpi+=(-genv I_MPI_FABRICS shm:tcp -genv I_MPI_TCP_NETMASK "${opt[netmask]}") ;;
  esac
  [ -z "${opt[mpi_iallreduce_algo]}" ] || mpi+=(-genv I_MPI_ADJUST_IALLREDUCE "${opt[mpi_iallreduce_algo]}")
  [ "${opt[debug]}" = off ] || mpi+=(-print-rank-map -genv DDL_OPTIONS "${DDL_OPTIONS:-} -dbg_level 2")
}

# write_nodes FILE COMMAND...: a line for each host, as mpirun -configfile takes them.
write_nodes() {
  local file=$1 host
  shift
  for host in "${hosts[@]}"; do
    printf -- '-host %s -n %s %s\n' "$host" "${opt[ppn]}" "$(printf '%q ' "$@")"
  done > "$file"
}

train() {
  local command=("${opt[caffe_bin]}" train "--solver=${opt[solver]}") nodes=$out/nodeconfig-$cpu-${#hosts[@]}.txt
  [ -z "${opt[snapshot]}" ] || command+=("--snapshot=${opt[snapshot]}")
  [ -z "${opt[weights]}" ] || command+=("--weights=${opt[weights]}")
  [ -z "${opt[engine]}" ] || command+=("--engine=${opt[engine]}")
  if [ -z "${opt[hostfile]}" ] && [ "${opt[ppn]}" -eq 1 ]; then
    launch "$log" "${near_memory[@]}" "${command[@]}"
    return
  fi
  write_nodes "$nodes" "${near_memory[@]}" "${command[@]}"
  launch "$log" "$ROOT/scripts/impi/mpirun" "${mpi[@]}" -configfile "$nodes"
}

# Each of the processes on its own cores of this host, at the same time.
time_model() {
  local command=("${opt[caffe_bin]}" time "--model=${opt[model_file]}" "--iterations=${opt[iteration]}")
  local i pids=() code=0
  [ "${opt[mode]}" = time ] || command+=(-forward_only -phase TEST)
  [ -z "${opt[engine]}" ] || command+=("--engine=${opt[engine]}")
  [ ${#hosts[@]} -eq 1 ] || note "--mode ${opt[mode]} measures this host alone"
  for ((i = 0; i < opt[ppn]; i++)); do
    OMPI_COMM_WORLD_LOCAL_RANK=$i OMPI_COMM_WORLD_LOCAL_SIZE=${opt[ppn]} "$ROOT/scripts/robusta_launch/rank_start.py" \
      --bind -- "${near_memory[@]}" env -u OMPI_COMM_WORLD_LOCAL_RANK -u OMPI_COMM_WORLD_LOCAL_SIZE "${command[@]}" \
      > >(sed -u "s/^/[$i] /" | tee -a "$log") 2>&1 &
    pids+=($!)
  done
  trap 'kill "${pids[@]}" 2> /dev/null' TERM INT HUP
  for i in "${pids[@]}"; do wait "$i" || code=$?; done
  return "$code"
}

# Latency and bandwidth from this host to every other. The server is told to quit by qperf itself.
bench_qperf() {
  local host server
  command -v qperf > /dev/null || fail "--benchmark ${opt[benchmark]} needs qperf (Debian: qperf) on all hosts"
  for host in "${hosts[@]}"; do
    is_here "$host" && continue
    "${agent[@]}" "$host" qperf < /dev/null > /dev/null 2>&1 &
    server=$!
    sleep 1
    printf -- '--- qperf %s\n' "$host"
    qperf "$host" tcp_lat tcp_bw || note "qperf to $host failed"
    qperf "$host" quit > /dev/null 2>&1
    wait "$server"
  done | tee "$out/qperf.txt"
}

# The chosen collective, by the library's own choice and by each algorithm that Open MPI has a counterpart for.
bench_mpi() {
  local algorithm more algorithms=(default) nodes=$out/nodeconfig-mpibench.txt
  command -v "${opt[mpibench_bin]}" > /dev/null ||
    fail "there is no ${opt[mpibench_bin]} (Debian: intel-mpi-benchmarks); give --mpibench_bin, or --benchmark none"
  [ "${opt[benchmark]}" != all ] || algorithms+=(1 2 3 7 8)
  write_nodes "$nodes" "$(command -v "${opt[mpibench_bin]}")" "${opt[mpibench_param]}" -msglog 29 -iter 10 \
    -iter_policy off
  for algorithm in "${algorithms[@]}"; do
    more=()
    [ "$algorithm" = default ] || more=(-genv I_MPI_ADJUST_ALLREDUCE "$algorithm")
    launch "$out/mpibench-$algorithm.txt" "$ROOT/scripts/impi/mpirun" "${mpi[@]}" "${more[@]}" -configfile "$nodes" ||
      note "the benchmark with algorithm $algorithm failed (exit code $?)"
  done
}

if [ $# -le 1 ]; then
  usage
  [ "${1:-}" = --help ]
  exit
fi
parse "$@"
check_options
if [ -n "${opt[hostfile]}" ]; then
  listed=$(LC_ALL=C host_names "${opt[hostfile]}") || exit
  mapfile -t hosts < <([ -z "$listed" ] || printf '%s\n' "$listed")
  [ ${#hosts[@]} -gt 0 ] || fail "--hostfile ${opt[hostfile]} names no host"
else
  hosts=("$(uname -n)")
fi
[ "${opt[mode]}" = none ] || find_program
case ${opt[mode]} in train | time | inf_time) check_data ;; esac
check_hosts
set_threads
cpu=${opt[cpu]:-$(find_cpu)}
out=${opt[output]}
mkdir -p "$out" || fail "cannot make the folder $out; give another with --output"
log=$out/outputCluster-$cpu-${#hosts[@]}.txt
# Knights Landing and Mill have their fast memory as a node of its own, the last one.
near_memory=()
if [[ $cpu =~ ^kn[lm]$ ]] && command -v numactl > /dev/null; then
  near_memory=(numactl "--preferred=$(numactl -H | sed -n 's/^available: \([0-9]*\) .*/\1/p' | awk '{ print $1 - 1 }')")
fi
mpi_options
export GLOG_minloglevel=0
note "${#hosts[@]} hosts, ${opt[ppn]} processes on each, results in $out"
case ${opt[benchmark]} in qperf | all) bench_qperf ;; esac
case ${opt[benchmark]} in mpi | all) bench_mpi ;; esac
! command -v sensors > /dev/null || sensors > "$out/sensors-before.txt" 2>&1
code=0
case ${opt[mode]} in
  train) train || code=$? ;;
  time | inf_time) : > "$log" && { time_model || code=$?; } ;;
esac
! command -v sensors > /dev/null || sensors > "$out/sensors-after.txt" 2>&1
exit "$code"
