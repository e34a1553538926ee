/// What the tests of the rules share: what lint says of a net, and what deploy makes of one that breaks a rule.
#pragma once

#include <sstream>

#include "exchange/deploy/lint.h"
#include "exchange/deploy/targets.h"
#include "exchange/deploy_fixture.h"

namespace robusta::test::deploy_fixture {

struct LintResult {
  int code;
  std::string text;
};

inline LintResult lint_files(const std::vector<std::string>& files, const std::string& target) {
  std::ostringstream out;
  const int code = deploy::lint(files, deploy::toolchains_named(target), {}, out);
  return {code, out.str()};
}

inline LintResult lint_text(const std::string& text, const std::string& target) {
  const TempDir folder;
  write_file(folder / "net.prototxt", text);
  return lint_files({folder / "net.prototxt"}, target);
}

/// Deploys for a target whose rule the net breaks, and looks at what is written with the eyes of lint.
inline Types mended_types(const std::string& text, const std::string& target, const std::string& rule) {
  const LintResult before = lint_text(text, target);
  EXPECT_EQ(before.code, 2) << before.text;
  EXPECT_TRUE(contains(before.text, "[" + rule + "; ")) << rule;
  Deployment deployment(text);
  deployment.options.target = target;
  const deploy::Deployed done = deployment.run();
  EXPECT_LE(done.difference, 1e-5) << done.blob;
  EXPECT_FALSE(done.blob.empty());
  const LintResult after =
      lint_files({deployment.folder / "out.prototxt", deployment.folder / "out.caffemodel"}, target);
  EXPECT_EQ(after.code, 0) << after.text;
  EXPECT_EQ(after.text.find("[" + rule), std::string::npos) << after.text;
  return deployment.types();
}

inline std::string layer(const std::string& type, const std::string& fields,
                         const std::string& bottoms = "bottom: 'data'") {
  return "layer { name: 'it' type: '" + type + "' " + bottoms + " top: 'it' " + fields + " }\n";
}

}  // namespace robusta::test::deploy_fixture
