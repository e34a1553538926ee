// Lines are read from their ends: folders may hold blanks.

#include "data/film_list.h"

#include <charconv>
#include <string_view>

#include "base/excerpt.h"
#include "base/input_text.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

constexpr char kBlanks[] = " \t\r";

/// What a line says, and where it stands.
struct Line {
  std::string_view text;
  const std::string& list;
  int64_t number;

  [[noreturn]] void refuse(const std::string& cause) const {
    throw Error(ErrorKind::kData, cause, "write \"folder number label\", both whole numbers")
        .at(str(list, ":", number));
  }

  std::string_view take_last_word() {
    text.remove_suffix(text.size() - (text.find_last_not_of(kBlanks) + 1));
    const size_t blank = text.find_last_of(kBlanks);
    const std::string_view word = text.substr(blank == std::string_view::npos ? 0 : blank + 1);
    text.remove_suffix(word.size());
    if (word.empty()) refuse("a film is a folder, a number and a label");
    return word;
  }

  int whole_number(std::string_view word, const char* what) const {
    int value = 0;
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (code != std::errc() || end != word.data() + word.size()) refuse(str("\"", excerpt(word), "\" is no ", what));
    return value;
  }
};

std::vector<int> labels_in(const Line& line, std::string_view word, bool many) {
  std::vector<int> labels;
  for (;;) {
    const size_t comma = many ? word.find(',') : std::string_view::npos;
    labels.push_back(line.whole_number(word.substr(0, comma), "label"));
    if (comma == std::string_view::npos) return labels;
    word.remove_prefix(comma + 1);
  }
}

Film film_in(Line line, const std::string& root, bool many_labels) {
  Film film;
  film.line = line.number;
  film.labels = labels_in(line, line.take_last_word(), many_labels);
  film.number = line.whole_number(line.take_last_word(), "number of a frame, or of frames");
  line.text.remove_suffix(line.text.size() - (line.text.find_last_not_of(kBlanks) + 1));
  if (line.text.empty()) line.refuse("a film is a folder, a number and a label");
  film.folder = root + std::string(line.text);
  return film;
}

}  // namespace

FilmListReader::FilmListReader(const std::string& list, const std::string& root, bool many_labels) : list_(list) {
  const std::string text = read_input_text(list, ErrorKind::kData);
  std::string_view rest = text;
  for (int64_t number = 1; !rest.empty(); ++number) {
    const size_t end = rest.find('\n');
    const Line line{rest.substr(0, end), list_, number};
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.text.find_first_not_of(kBlanks) != std::string_view::npos)
      films_.push_back(film_in(line, root, many_labels));
  }
  if (films_.empty())
    throw Error(ErrorKind::kData, "the list names no film", "write \"folder number label\" lines").at(list);
}

std::string FilmListReader::key(int64_t index) const { return str(film(index).folder, ", line ", film(index).line); }

std::string FilmListReader::place(const Film& film) const { return str(list_, ":", film.line); }

}  // namespace robusta
