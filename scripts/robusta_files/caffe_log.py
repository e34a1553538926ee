"""Logs of trainings, of Robusta and of every Caffe that logs by glog.

A line begins with the severity and the time, `I1122 09:15:02.123456 4711 solver.cpp:239] `, or with the year as newer
versions of glog write it, `I20261122 09:15:02.123456 ...`. Lines of another form are passed over.
"""

import datetime
import io
import re

from .inputs import open_input

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf)"
PREFIX = re.compile(r"[IWEF](\d{4}(?=\d{4} ))?(\d{2})(\d{2}) (\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,6}))?\s")
ITERATION = re.compile(r"Iteration (\d+)\b")
LOSS = re.compile(r"Iteration \d+.*, loss = (" + NUMBER + r")")
RATE = re.compile(r"\blr = (" + NUMBER + r")")
OUTPUT = re.compile(r"\b(Train|Test) net output #(\d+): (\S+) = (" + NUMBER + r")")
MOST_LINE = 1 << 16  # what is longer is no line of a training


class LogError(Exception):
    """A file that is no log of a training; its text is for whoever called."""


def lines_of(path):
    """The lines of a file, however long it is; bytes that are no text become marks."""
    with io.TextIOWrapper(open_input(path), encoding="utf-8", errors="replace") as log:
        while line := log.readline(MOST_LINE):
            yield line.rstrip("\n")


def time_of(line, year=None):
    """When a line was written, or None. `year`: for lines that do not tell theirs."""
    found = PREFIX.match(line)
    if not found:
        return None
    own_year, *numbers, fraction = found.groups()
    micros = int((fraction or "0").ljust(6, "0"))
    try:
        return datetime.datetime(int(own_year or year or 2000), *map(int, numbers), micros)
    except ValueError:
        return None


class Clock:
    """Seconds since "Solving" was logged. Lines without a year that go back in time have passed New Year's Eve."""

    def __init__(self, year=None):
        self.year = year or 2000  # a leap year, so that each day exists
        self.start = self.last = None

    def read(self, line):
        """Seconds at a line; None before training begins and for lines without a time."""
        now = time_of(line, self.year)
        if now is None:
            return None
        if self.last is not None and (self.last - now).days > 180:
            self.year += 1
            now = time_of(line, self.year) or now
        self.last = now
        if "Solving" in line and self.start is None:
            self.start = now
        return None if self.start is None else (now - self.start).total_seconds()


class Rows:
    """A row for each iteration of one phase: seconds, learning rate, outputs in the order in which they first came."""

    def __init__(self):
        self.by_iteration = {}
        self.outputs = []

    def put(self, iteration, seconds, rate, name, value):
        row = self.by_iteration.setdefault(iteration, {"NumIters": iteration, "Seconds": seconds, "LearningRate": rate})
        row[name] = value
        if name not in self.outputs:
            self.outputs.append(name)

    def columns(self):
        return ["NumIters", "Seconds", "LearningRate", *self.outputs]

    def values(self):
        """The rows in order, each with all columns."""
        return [{"LearningRate": None, **row} for _, row in sorted(self.by_iteration.items())]


class TrainingLog:
    """What a log says: `train` and `test` rows, and by iteration the displayed `losses` and what stands beside them:
    `displayed` [seconds, loss, rate or None]."""

    def __init__(self):
        self.train, self.test, self.losses, self.displayed = Rows(), Rows(), {}, {}


def output_name(number, name, seen):
    """A blob of several numbers has one line for each: name, name_1, name_2..."""
    first = seen.setdefault(name, number)
    return name if number <= first else f"{name}_{number - first}"


def parse(lines):
    """Reads the lines of a training. Raises LogError where there is none."""
    log, clock, iteration, rate = TrainingLog(), Clock(), None, None
    names = {"Train": {}, "Test": {}}
    for line in lines:
        seconds = clock.read(line)
        if seconds is None:
            continue
        if found := ITERATION.search(line):
            iteration = int(found.group(1))
        if iteration is None:
            continue
        if found := LOSS.search(line):
            log.losses[iteration] = float(found.group(1))
            log.displayed[iteration] = [seconds, log.losses[iteration], None]
        if found := RATE.search(line):
            rate = float(found.group(1))
            if iteration in log.displayed:
                log.displayed[iteration][2] = rate
            for rows in (log.train, log.test):
                if iteration in rows.by_iteration:
                    rows.by_iteration[iteration]["LearningRate"] = rate
        if found := OUTPUT.search(line):
            phase, number, name, value = found.groups()
            rows = log.train if phase == "Train" else log.test
            rows.put(iteration, seconds, rate, output_name(int(number), name, names[phase]), float(value))
    if clock.start is None:
        raise LogError("no line says \"Solving\": this is no log of a training")
    return log
