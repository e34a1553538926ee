// JSON as RFC 8259 has it; of numbers, true, false and null the text is kept.

#include <cctype>
#include <charconv>

#include "data/convert/text_scanner.h"
#include "data/convert/text_tree.h"

namespace robusta {
namespace {

class JsonParser {
 public:
  JsonParser(std::string_view text, const std::string& name) : in_(text, name) {}

  TextTree document() {
    in_.take_if("\xef\xbb\xbf");
    TextTree root = value(0);
    in_.skip_blanks();
    if (!in_.at_end()) in_.fail("something follows the value");
    return root;
  }

 private:
  TextTree value(int depth) {
    if (depth >= kDeepestText) in_.fail("values are nested too deeply");
    in_.skip_blanks();
    TextTree tree;
    tree.line = in_.line();
    if (in_.take_if("{"))
      members(tree, depth);
    else if (in_.take_if("["))
      elements(tree, depth);
    else if (in_.take_if("\""))
      tree.text = string();
    else
      tree.text = word();
    return tree;
  }

  void members(TextTree& tree, int depth) {
    in_.skip_blanks();
    if (in_.take_if("}")) return;
    for (;;) {
      in_.skip_blanks();
      in_.require("\"");
      std::string name = string();
      in_.skip_blanks();
      in_.require(":");
      tree.children.push_back(value(depth + 1));
      tree.children.back().name = std::move(name);
      in_.skip_blanks();
      if (in_.take_if("}")) return;
      in_.require(",");
    }
  }

  void elements(TextTree& tree, int depth) {
    in_.skip_blanks();
    if (in_.take_if("]")) return;
    for (;;) {
      tree.children.push_back(value(depth + 1));
      in_.skip_blanks();
      if (in_.take_if("]")) return;
      in_.require(",");
    }
  }

  /// After its opening quote.
  std::string string() {
    std::string text;
    for (;;) {
      text += in_.take_while([](char c) { return c != '"' && c != '\\' && static_cast<unsigned char>(c) >= ' '; });
      if (in_.take_if("\"")) return text;
      if (!in_.take_if("\\")) in_.fail("a string has no end");
      escape(text);
    }
  }

  void escape(std::string& text) {
    constexpr std::string_view kNames = "\"\\/bfnrt", kCharacters = "\"\\/\b\f\n\r\t";
    const std::string_view name = in_.take(1);
    const size_t at = name.empty() ? std::string_view::npos : kNames.find(name);
    if (at != std::string_view::npos) {
      text += kCharacters[at];
      return;
    }
    if (name != "u") in_.fail(str("\\", excerpt(name), " is no escape"));
    // Beyond U+FFFF two escapes are one character, a pair of UTF-16's surrogates (RFC 8259, section 7); half of one is
    // none.
    uint32_t code = four_digits();
    if (code >= 0xd800 && code < 0xdc00 && in_.take_if("\\u")) {
      const uint32_t low = four_digits();
      code = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : 0xd800;
    }
    if (!append_utf8(code, text)) in_.fail("an escape is half a character");
  }

  uint32_t four_digits() {
    const std::string_view digits = in_.take(4);
    uint32_t code = 0;
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() != 4 || status != std::errc() || end != digits.data() + 4) in_.fail("\\u wants four digits");
    return code;
  }

  std::string word() {
    const std::string_view text = in_.take_while(
        [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '+' || c == '.'; });
    if (text == "true" || text == "false" || text == "null") return std::string(text);
    double number = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_number = status == std::errc() && end == text.data() + text.size();
    // from_chars reads words such as inf, too, which JSON does not have.
    const bool is_finite_word = !text.empty() && (text[0] == '-' || std::isdigit(static_cast<unsigned char>(text[0])));
    if (!is_number || !is_finite_word) in_.fail(str("\"", excerpt(text), "\" is no value"));
    return std::string(text);
  }

  TextScanner in_;
};

}  // namespace

TextTree parse_json(std::string_view text, const std::string& name) { return JsonParser(text, name).document(); }

}  // namespace robusta
