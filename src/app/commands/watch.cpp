// caffe watch: the curves of a training in a terminal, while it goes on.
//
// A terminal is left as it was found, whatever ends or stops the watching: q, Ctrl-C, Ctrl-Z, an error. Elsewhere - a
// pipe, a file, a terminal without escapes - plain lines are written, and the end of the training is the end.

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>

#include "app/commands/file_action.h"
#include "base/atomic_file.h"
#include "inspect/runs/run_log_reader.h"
#include "inspect/watch/dot_plot.h"
#include "inspect/watch/followed_file.h"
#include "robusta/error.h"

namespace robusta {
namespace {

struct WatchFlags : FileFlags {
  Flag<bool> follow{this, "follow", true, "wait for more; without, show what there is now"};
};

volatile sig_atomic_t watch_ends = 0, watch_stops = 0;
void end_watching(int) { watch_ends = 1; }
void stop_watching(int) { watch_stops = 1; }
void wake_up(int) {}

void on_signal(int number, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  ::sigaction(number, &action, nullptr);
}

/// Signals interrupt the wait for the next look, and do nothing else.
void catch_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) on_signal(number, end_watching);
  on_signal(SIGWINCH, wake_up);
}

/// Those of Ctrl-\ and Ctrl-Z, before which a screen is given back.
void catch_signals_of_the_terminal() {
  on_signal(SIGQUIT, end_watching);
  on_signal(SIGTSTP, stop_watching);
}

/// Key by key, on a screen of its own, without a cursor.
class WatchScreen {
 public:
  WatchScreen() { enter(); }
  ~WatchScreen() {
    try {
      leave();
    } catch (const Error&) {  // the terminal is gone
    }
  }
  WatchScreen(const WatchScreen&) = delete;
  WatchScreen& operator=(const WatchScreen&) = delete;

  PlotSize size() const {
    winsize now = {};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &now) != 0 || now.ws_col == 0 || now.ws_row == 0) return {80, 24};
    return {now.ws_col, now.ws_row};
  }

  void draw(const std::vector<std::string>& lines) const {
    std::string text = "\x1b[H";
    for (size_t i = 0; i < lines.size(); ++i) text += (i ? "\r\n" : "") + lines[i] + "\x1b[K";
    put(text + "\x1b[J");
  }

  /// Ctrl-Z: the shell has the terminal until the job goes on.
  void stop() {
    leave();
    on_signal(SIGTSTP, SIG_DFL);
    ::raise(SIGTSTP);
    on_signal(SIGTSTP, stop_watching);
    enter();
  }

  /// Waits for a key or a while. False: whoever watches wants to leave.
  bool wait(int milliseconds) const {
    pollfd keys = {STDIN_FILENO, POLLIN, 0};
    if (::poll(&keys, has_keys_ ? 1 : 0, milliseconds) > 0) {
      char key = 0;
      const ssize_t got = ::read(STDIN_FILENO, &key, 1);
      if (got == 0 && (keys.revents & POLLHUP)) return false;
      if (got == 1 && (key == 'q' || key == 'Q' || key == 3)) return false;
    }
    return !watch_ends;
  }

 private:
  void enter() {
    has_keys_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
    if (has_keys_) {
      termios now = before_;
      now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      now.c_cc[VMIN] = 0;
      now.c_cc[VTIME] = 0;
      ::tcsetattr(STDIN_FILENO, TCSANOW, &now);
    }
    put("\x1b[?1049h\x1b[?25l");
  }
  void leave() {
    if (has_keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
    put("\x1b[?25h\x1b[?1049l");
  }
  static void put(const std::string& text) { write_all(STDOUT_FILENO, text.data(), text.size()); }

  termios before_ = {};  ///< of the terminal, as it was found
  bool has_keys_ = false;
};

/// What is known of the log so far.
class Watched {
 public:
  explicit Watched(const std::string& path) : file_(path), path_(path), reader_(path) { none_.name = path; }
  bool look() {
    return file_.read([&](std::string_view line) { reader_.read(line); },
                      [&] {
                        replaced_ = std::move(reader_.runs());
                        reader_ = RunLogReader(path_);
                        ++beginnings_;
                      });
  }
  /// The training that was begun last.
  const RunLog& latest() const { return reader_.runs().empty() ? none_ : reader_.runs().back(); }
  std::vector<RunLog>& runs() { return reader_.runs(); }
  /// Those of the log that the last one took the place of.
  std::vector<RunLog>& replaced() { return replaced_; }
  /// How often the log was written anew.
  int beginnings() const { return beginnings_; }

 private:
  FollowedFile file_;
  std::string path_;
  RunLogReader reader_;
  std::vector<RunLog> replaced_;
  RunLog none_;  ///< what is shown of a log that tells of no training yet
  int beginnings_ = 0;
};

constexpr int kLookEvery = 300;  // milliseconds

void watch_on_screen(Watched& watched) {
  WatchScreen screen;
  PlotSize drawn = {0, 0};
  bool going_on = true;
  while (going_on) {
    const PlotSize size = screen.size();
    const bool resized = size.columns != drawn.columns || size.rows != drawn.rows;
    if (watched.look() || resized) screen.draw(run_screen(watched.latest(), size));
    drawn = size;
    going_on = screen.wait(kLookEvery);
    if (std::exchange(watch_stops, 0)) {
      screen.stop();
      drawn = {0, 0};
    }
  }
}

/// What has been printed of a log, whose trainings go on, go back, or begin anew.
class PrintedLines {
 public:
  void print(Watched& watched, bool all) {
    if (watched.beginnings() != beginnings_) {
      print_from_here(watched.replaced(), true);
      begin_with(0);
    }
    beginnings_ = watched.beginnings();
    print_from_here(watched.runs(), all);
  }

 private:
  void print_from_here(std::vector<RunLog>& runs, bool all) {
    for (size_t run = run_; run < runs.size(); ++run) {
      if (run != run_) begin_with(run);
      print_run(runs[run], all || run + 1 < runs.size());
    }
  }
  void begin_with(size_t run) {
    run_ = run;
    seen_ = -1;
  }
  void print_run(RunLog& run, bool all) {
    constexpr double kNowhere = std::numeric_limits<double>::infinity();
    const double back = std::exchange(run.went_back_to, kNowhere);
    if (back != kNowhere) seen_ = std::min(seen_, std::nextafter(back, -kNowhere));
    std::string text;
    for (const std::string& line : new_lines(run, all, seen_)) text += line + '\n';
    write_all(STDOUT_FILENO, text.data(), text.size());
  }

  int beginnings_ = 0;
  size_t run_ = 0;
  double seen_ = -1;  ///< the last iteration that was printed
};

void watch_in_lines(Watched& watched, bool follow) {
  ::signal(SIGPIPE, SIG_IGN);  // who reads the lines may leave: that is an error of writing
  PrintedLines printed;
  for (; !watch_ends; ::poll(nullptr, 0, kLookEvery)) {
    watched.look();
    printed.print(watched, !follow);
    if (!follow || watched.latest().ended) return;
  }
}

/// TERM=dumb, or none: the terminal may take escapes for text.
bool obeys_escapes() {
  const char* name = std::getenv("TERM");
  return name && std::string_view(name) != "dumb";
}

int watch_command(const FileCommand& command) {
  WatchFlags flags;
  const FileWords read = read_file_command(command, flags, 1, 1);
  if (read.done) return read.exit_code;
  Watched watched(read.words[0]);
  catch_signals();
  const bool terminal = ::isatty(STDOUT_FILENO) && flags.follow() && obeys_escapes();
  if (terminal) catch_signals_of_the_terminal();
  terminal ? watch_on_screen(watched) : watch_in_lines(watched, flags.follow());
  return 0;
}

[[maybe_unused]] const bool registered_watch = register_file_action(
    {"watch", "LOG", "the curves of a training in the terminal, while it goes on; q ends", watch_command});

}  // namespace
}  // namespace robusta
