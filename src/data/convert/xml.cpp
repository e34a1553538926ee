// The part of XML 1.0 that files of annotations are written in, strictly.

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "data/convert/text_scanner.h"
#include "data/convert/text_tree.h"

namespace robusta {
namespace {

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.' || c == ':' ||
         static_cast<unsigned char>(c) >= 0x80;
}

class XmlParser {
 public:
  XmlParser(std::string_view text, const std::string& name) : in_(text, name) {}

  TextTree document() {
    in_.take_if("\xef\xbb\xbf");
    skip_outside();
    if (in_.next() != '<') in_.fail("the file holds no element");
    TextTree root = element(0);
    skip_outside();
    if (!in_.at_end()) in_.fail("something follows the root element");
    return root;
  }

 private:
  /// Blanks, comments, instructions and a document type.
  void skip_outside() {
    for (;;) {
      in_.skip_blanks();
      if (in_.take_if("<!--"))
        in_.take_until("-->", "a comment");
      else if (in_.take_if("<?"))
        in_.take_until("?>", "an instruction");
      else if (in_.take_if("<!DOCTYPE"))
        skip_document_type();
      else
        return;
    }
  }

  /// The entities that a subset defines may grow without bound when they are put in: it is refused, and with it every
  /// entity but the five of XML itself.
  void skip_document_type() {
    const std::string_view type = in_.take_until(">", "the document type");
    if (type.find('[') != std::string_view::npos) in_.fail("a document type with a subset is not read");
  }

  TextTree element(int depth) {
    if (depth >= kDeepestText) in_.fail("elements are nested too deeply");
    TextTree tree;
    tree.line = in_.line();
    in_.require("<");
    tree.name = in_.take_while(is_name_char);
    if (tree.name.empty()) in_.fail("an element has no name");
    skip_attributes(tree.name);
    if (in_.take_if("/>")) return tree;
    in_.require(">");
    content(tree, depth);
    return tree;
  }

  void skip_attributes(const std::string& element) {
    for (in_.skip_blanks(); in_.next() != '>' && in_.next() != '/'; in_.skip_blanks()) {
      if (in_.take_while(is_name_char).empty()) in_.fail(str("the tag <", excerpt(element), " has no end"));
      in_.skip_blanks();
      in_.require("=");
      in_.skip_blanks();
      const std::string_view quote = in_.take(1);
      if (quote != "\"" && quote != "'") in_.fail("an attribute has no value in quotes");
      in_.take_until(quote, "the value of an attribute");
    }
  }

  void content(TextTree& tree, int depth) {
    for (;;) {
      tree.text += in_.take_while([](char c) { return c != '<' && c != '&'; });
      if (in_.at_end()) in_.fail(str("<", excerpt(tree.name), "> of line ", tree.line, " is not closed"));
      if (in_.take_if("&")) {
        reference(tree.text);
      } else if (in_.take_if("</")) {
        const std::string_view name = in_.take_while(is_name_char);
        if (name != tree.name)
          in_.fail(str("</", excerpt(name), "> closes <", excerpt(tree.name), "> of line ", tree.line));
        in_.skip_blanks();
        in_.require(">");
        return;
      } else if (in_.take_if("<!--")) {
        in_.take_until("-->", "a comment");
      } else if (in_.take_if("<![CDATA[")) {
        tree.text += in_.take_until("]]>", "CDATA");
      } else if (in_.take_if("<?")) {
        in_.take_until("?>", "an instruction");
      } else {
        tree.children.push_back(element(depth + 1));
      }
    }
  }

  void reference(std::string& text) {
    const std::string_view name = in_.take_until(";", "a reference");
    constexpr std::pair<std::string_view, char> kNamed[] = {
        {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    for (const auto& [known, character] : kNamed) {
      if (name != known) continue;
      text += character;
      return;
    }
    const bool hexadecimal = name.starts_with("#x");
    const std::string_view digits = name.substr(std::min(name.size(), size_t{hexadecimal ? 2u : 1u}));
    uint32_t code = 0;
    const auto [end, status] =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, hexadecimal ? 16 : 10);
    const bool is_number = name.starts_with('#') && status == std::errc() && end == digits.data() + digits.size();
    if (!is_number || code == 0 || !append_utf8(code, text)) in_.fail(str("&", excerpt(name), "; is no character"));
  }

  TextScanner in_;
};

}  // namespace

TextTree parse_xml(std::string_view text, const std::string& name) { return XmlParser(text, name).document(); }

}  // namespace robusta
