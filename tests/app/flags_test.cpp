// Command lines into options.
#include <gtest/gtest.h>

#include "app/flags/options.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test::flags_test {
namespace {

CommandLine read(FlagSet& flags, std::vector<std::string> words) {
  words.insert(words.begin(), "/bin/caffe");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return flags.read(static_cast<int>(argv.size()), argv.data());
}

std::string refusal(const std::vector<std::string>& words) {
  Options options;
  const Error error = error_of([&] { read(options, words); });
  EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  return error.what();
}

TEST(Flags, TakeEveryFormOfCaffe) {
  Options options;
  const CommandLine line = read(options, {"train", "-solver", "a", "--model=b", "-iterations=0x10", "--level", "-3",
                                          "-sampling", "-noautotune", "-share_memory=no", "-lms_frac=.5"});
  EXPECT_EQ(line.words, std::vector<std::string>{"train"});
  EXPECT_EQ(options.solver(), "a");
  EXPECT_EQ(options.model(), "b");
  EXPECT_EQ(options.iterations(), 16);
  EXPECT_EQ(options.level(), -3);
  EXPECT_TRUE(options.sampling());
  EXPECT_FALSE(options.autotune());
  EXPECT_FALSE(options.share_memory());
  EXPECT_EQ(options.lms_frac(), 0.5);
  EXPECT_TRUE(options.sampling.given());
  EXPECT_FALSE(options.gpu.given());
}

TEST(Flags, LmsStandsByItselfOrHasASize) {
  const auto lms = [](const std::vector<std::string>& words) {
    Options options;
    const CommandLine line = read(options, words);
    return options.lms() + "/" + std::to_string(line.words.size());
  };
  EXPECT_EQ(lms({"train", "-lms"}), "auto/1");
  EXPECT_EQ(lms({"-lms", "train"}), "auto/1");
  EXPECT_EQ(lms({"-lms", "8000", "train"}), "8000/1");
  EXPECT_EQ(lms({"-lms", "-1", "train"}), "-1/1");
  EXPECT_EQ(lms({"-lms", "auto", "train"}), "auto/1");
  EXPECT_EQ(lms({"-lms=5", "train"}), "5/1");
}

TEST(Flags, RefuseNumbersThatNoActionCanUse) {
  const auto said = [](const std::string& word) {
    Options options;
    read(options, {word});
    const Error error = error_of([&] { refuse_wrong_numbers(options); });
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return std::string(error.what());
  };
  EXPECT_EQ(said("-data_threads=-3"), "-data_threads -3; give 0 to 4096");
  EXPECT_EQ(said("-data_threads=2147483647"), "-data_threads 2147483647; give 0 to 4096");
  EXPECT_EQ(said("-iterations=-4"), "-iterations -4; give 1 or more");
  EXPECT_EQ(said("-iterations=0"), "-iterations 0; give 1 or more");
  Options untouched;
  refuse_wrong_numbers(untouched);
}

TEST(Flags, RefuseWhatTheyCannotRead) {
  EXPECT_EQ(refusal({"-solvr=x"}), "unknown flag -solvr (did you mean -solver?); caffe --help lists all flags");
  EXPECT_EQ(refusal({"-iterations"}), "-iterations needs a value; give it as -iterations VALUE");
  for (const char* bad : {"-iterations=many", "-iterations=5x", "-iterations=", "-iterations=99999999999"}) {
    EXPECT_TRUE(contains(refusal({bad}), "give a value of type int32")) << bad;
  }
  EXPECT_TRUE(contains(refusal({"-sampling=maybe"}), "-sampling cannot be \"maybe\"; give a value of type bool"));
  EXPECT_TRUE(contains(refusal({"-nosolver"}), "unknown flag -nosolver"));
  for (const char* none : {"half", "nan", "-nan", "1.5x"}) {
    EXPECT_TRUE(contains(refusal({std::string("-lms_frac=") + none}), "type double")) << none;
  }
}

TEST(Flags, AreReadFromAFile) {
  const TempDir folder;
  write_file(folder / "flags", "# a comment\n\n  -solver=a b\n-sampling\n");
  Options options;
  EXPECT_EQ(read(options, {"train", "-flagfile", folder / "flags"}).words.size(), 1u);
  EXPECT_EQ(options.solver(), "a b");
  EXPECT_TRUE(options.sampling());
  EXPECT_TRUE(contains(refusal({"-flagfile=" + folder / "none"}), "cannot read -flagfile"));
  write_file(folder / "words", "train\n");
  EXPECT_TRUE(contains(refusal({"-flagfile=" + folder / "words"}), "is no flag"));
  write_file(folder / "itself", "-flagfile=" + folder / "itself");
  EXPECT_TRUE(contains(refusal({"-flagfile=" + folder / "itself"}), "does one name itself?"));
}

TEST(Flags, HelpVersionAndWords) {
  Options options;
  EXPECT_TRUE(read(options, {"--help"}).help);
  EXPECT_TRUE(read(options, {"-version"}).version);
  const CommandLine line = read(options, {"a", "-", "--", "-solver", "b"});
  EXPECT_EQ(line.words, (std::vector<std::string>{"a", "-", "-solver", "b"}));
  EXPECT_EQ(options.solver(), "");
}

TEST(Options, AJobComparesWhatItsRanksHaveToShare) {
  Options options;
  read(options, {"-batch", "8", "-gpu", "0"});
  std::string batch;
  for (const auto& [name, value] : flags_of_the_job(options)) {
    EXPECT_NE(name, "-gpu");
    EXPECT_NE(name, "-ddl");
    EXPECT_NE(name, "-log_json");
    EXPECT_NE(name, "-bvlc");
    if (name == "-batch") batch = value;
  }
  EXPECT_EQ(batch, "8");
}

TEST(Options, NumbersOfGroupsAndServersAreChecked) {
  for (const std::string wrong : {"-n_group=0", "-n_server=-1"}) {
    Options options;
    read(options, {wrong});
    EXPECT_EQ(error_of([&] { refuse_wrong_numbers(options); }).kind(), ErrorKind::kUsage) << wrong;
  }
}

TEST(Options, HelpNamesEveryFlagOnceInOrder) {
  const Options options;
  const std::string help = describe_flags(options);
  EXPECT_TRUE(contains(help, "  -iterations (int32)  batches to run (test, time; find_lr: 100 unless given) [50]\n"));
  EXPECT_TRUE(contains(help, "  -autotune  time kernels when planning and take the fastest [true]\n"));
  EXPECT_LT(help.find("-accept_batch_change"), help.find("-autotune"));
  for (const FlagBase* flag : options.flags()) EXPECT_TRUE(contains(help, " -" + flag->name())) << flag->name();
}

}  // namespace
}  // namespace robusta::test::flags_test
