#!/bin/sh
# Writes the manual page of `caffe` from what `caffe --help` says, so that flags are described in one place.
#
#   packaging/man_page.sh CAFFE VERSION > caffe.1
set -eu

"$1" --help | awk -v version="$2" '
function escaped(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  sub(/^\./, "\\\\\\&.", text)
  return text
}
BEGIN {
  print ".TH CAFFE 1 \"\" \"Robusta " version "\" \"User Commands\""
  print ".SH NAME\ncaffe \\- train, test and time Caffe nets"
  print ".SH SYNOPSIS\n.B caffe\n.I ACTION\n[\\fB\\-flag\\fR \\fIvalue\\fR ...]"
}
/^actions:/ { print ".SH ACTIONS"; part = "actions"; next }
/^actions on files/ { print ".SH ACTIONS ON FILES\nEach has flags of its own: \\fBcaffe\\fR \\fIACTION\\fR \\fB\\-\\-help\\fR."; next }
/^flags, with their defaults:/ { print ".SH OPTIONS\nDefaults stand in brackets."; part = "flags"; next }
/^known, but not in this build:/ {
  sub(/^[^:]*: */, "")
  print ".PP\nKnown, but not in this build: " escaped($0)
  part = ""
  next
}
/^examples:/ { print ".SH EXAMPLES\n.nf"; part = "examples"; next }
NF == 0 { next }
part == "actions" || part == "flags" {
  split($0, words, " ")
  rest = $0
  sub(/^ *[^ ]+ */, "", rest)
  print ".TP\n.B " escaped(words[1]) "\n" escaped(rest)
}
part == "examples" { print escaped($0) }
END {
  print ".fi\n.SH EXIT STATUS"
  print "0 when all went well, else by the kind of error: 1 command line, 2 prototxt, 3 data, 4 weights or state,"
  print "5 memory, 6 a loss that is not finite, 7 output, 8 between ranks, 9 not in this build, 10 GPU, 70 a defect."
  print ".SH FILES\n.I /usr/share/doc/robusta\nThe documentation: cli.md has every flag with its meaning."
}'
