#include "comm/ddl_options.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace robusta::test::ddl_options_test {
namespace {

void expect_refused(const std::string& text, const std::string& cause, const std::string& fix) {
  const Error error = error_of([&] { parse_ddl_options(text); });
  EXPECT_EQ(error.kind(), ErrorKind::kUsage) << text;
  EXPECT_TRUE(contains(error.cause(), cause));
  EXPECT_TRUE(contains(error.fix(), fix));
}

std::string dims_error(const std::string& mode, int ranks) {
  const Error error = error_of([&] { check_dims(parse_ddl_options("-mode " + mode), ranks); });
  EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  return error.what();
}

}  // namespace

TEST(DdlOptionsTest, Defaults) {
  const DdlOptions options = parse_ddl_options("");
  EXPECT_EQ(options.mode, ReduceMode::kByHosts);
  EXPECT_TRUE(options.dims.empty());
  EXPECT_EQ(options.timeout_s, 60);
  EXPECT_EQ(options.wire.compress, Compression::kNone);
}

// The strings of IBM's own documents and of posts about it.
TEST(DdlOptionsTest, SeenInUse) {
  const DdlOptions blog = parse_ddl_options("-mode b:4x2x1 -dev_sync 1");
  EXPECT_EQ(blog.mode, ReduceMode::kLayered);
  EXPECT_EQ(blog.dims, (std::vector<int>{4, 2, 1}));
  EXPECT_EQ(blog.dev_sync, 1);
  const DdlOptions readme = parse_ddl_options("-mode b:4x8x2 -dump_iter 100");
  EXPECT_EQ(readme.dump_iter, 100);
  EXPECT_EQ(parse_ddl_options("-mode p:6x2x1x1 ").dims, (std::vector<int>{6, 2, 1, 1}));
  EXPECT_EQ(parse_ddl_options("-mode r:2").dims, (std::vector<int>{2}));
}

TEST(DdlOptionsTest, AllWords) {
  const DdlOptions options = parse_ddl_options(
      "--mode=c:4x2 -dump_iter 3 -dev_sync 2 -rebind_iter 4 -dbg_level 1 -bucket_mb 2.5 -compress bf16 -timeout 7 "
      "-check_iter=5");
  EXPECT_EQ(options.mode, ReduceMode::kCustom);
  EXPECT_EQ(options.dump_iter, 3);
  EXPECT_EQ(options.dev_sync, 2);
  EXPECT_EQ(options.rebind_iter, 4);
  EXPECT_EQ(options.dbg_level, 1);
  EXPECT_EQ(options.bucket_mb, 2.5);
  EXPECT_EQ(options.wire.compress, Compression::kBf16);
  EXPECT_EQ(options.timeout_s, 7);
  EXPECT_EQ(parse_ddl_options("-timeout 0").timeout_s, 0);
  EXPECT_EQ(options.check_iter, 5);
  EXPECT_EQ(parse_ddl_options("-compress fp16").wire.compress, Compression::kFp16);
  EXPECT_EQ(parse_ddl_options("-compress int8").wire.compress, Compression::kInt8);
  EXPECT_EQ(parse_ddl_options("-compress topk:0.01").wire.compress, Compression::kTopK);
  EXPECT_EQ(parse_ddl_options("-compress topk:0.01").wire.share, 0.01);
  for (const char* share : {"", "0", "0.6", "-1", "nan", "1e-2x", "x"}) {
    const Error error = error_of([&] { parse_ddl_options(std::string("-compress topk:") + share); });
    EXPECT_TRUE(contains(error.what(), "or topk: and a share above 0 up to 0.5, such as topk:0.01")) << share;
  }
  EXPECT_EQ(parse_ddl_options("").shard, Shard::kNone);
  EXPECT_EQ(parse_ddl_options("-shard states").shard, Shard::kStates);
  EXPECT_EQ(parse_ddl_options("-shard gradients").shard, Shard::kGradients);
  EXPECT_TRUE(contains(error_of([] { parse_ddl_options("-shard all"); }).what(), "give none, states or gradients"));
  EXPECT_EQ(parse_ddl_options("").sync_every, 1);
  const DdlOptions local = parse_ddl_options("-mode b:2x4 -sync_every 8 -slow_momentum 0.5");
  EXPECT_EQ(local.sync_every, 8);
  EXPECT_EQ(local.slow_momentum, 0.5);
  EXPECT_EQ(parse_ddl_options("-op adasum").op, GradientOp::kAdasum);
  EXPECT_EQ(parse_ddl_options("-op sum").op, GradientOp::kSum);
  EXPECT_FALSE(parse_ddl_options("").fit.asked);
  EXPECT_FALSE(parse_ddl_options("-fit none").fit.asked);
  EXPECT_TRUE(parse_ddl_options("-fit auto").fit.asked);
  EXPECT_TRUE(parse_ddl_options("-fit auto").fit.measures());
  const FitOptions fit = parse_ddl_options("-fit 1.2:50").fit;
  EXPECT_TRUE(fit.asked);
  EXPECT_FALSE(fit.measures());
  EXPECT_EQ(fit.gb_per_second, 1.2);
  EXPECT_EQ(fit.microseconds, 50);
  for (const char* value : {"yes", "1.2", "0:50", "1.2:-1", "nan:5", "1:nan", "1:", ":1", "1:2:3"})
    expect_refused(std::string("-fit ") + value, "is not allowed", "none, auto, or GB/s and microseconds of a link");
  for (const char* other : {"-shard states", "-mode b:1x2 -sync_every 4", "-op adasum", "-compress int8",
                            "-elastic 1:2", "-groups 2 -servers 1"})
    expect_refused(std::string("-fit auto ") + other, "-fit cuts layers among the ranks, which goes not with",
                   "leave one of them out");
  EXPECT_FALSE(parse_ddl_options("").elastic.asked());
  const ElasticBounds bounds = parse_ddl_options("-elastic 2:8").elastic;
  EXPECT_EQ(bounds.fewest, 2);
  EXPECT_EQ(bounds.most, 8);
  const DdlOptions automatic = parse_ddl_options("auto -bucket_mb 1");
  EXPECT_EQ(automatic.mode, ReduceMode::kAutomatic);
  EXPECT_EQ(automatic.bucket_mb, 1);
}

TEST(DdlOptionsTest, Refusals) {
  expect_refused("-mod b:4", "unknown option \"-mod\" (did you mean \"-mode\"?)", "-dump_iter");
  expect_refused("-dumpiter 4", "did you mean \"-dump_iter\"?", "known are auto, -mode");
  expect_refused("b:4x2", "unknown option \"b:4x2\"", "-mode");
  expect_refused("-rank_file x", "unknown option \"-rank_file\"", "-mode");
  expect_refused("-mode", "-mode wants a value", "-mode b:4x2x1");
  expect_refused("-mode 4x2", "no letter and colon", "-mode b:4x2x1");
  expect_refused("-mode b4x2", "no letter and colon", "-mode b:4x2x1");
  expect_refused("-mode x:4x2", "there is no mode 'x'", "b, n, r, m, c, p");
  for (const char* dims : {"", "4x", "x4", "4xx2", "0x4", "-1x4", "4.0", "4,2", "4x2x", "99999999999"}) {
    expect_refused(std::string("-mode b:") + dims, "is no dim", "1 to 4 dims");
  }
  expect_refused("-mode b:1x1x1x1x1", "5 dims are too many", "1 to 4 dims");
  expect_refused("-dev_sync 3", "-dev_sync 3 is not allowed", "give 0, 1 or 2");
  expect_refused("-dev_sync yes", "-dev_sync yes is not allowed", "give 0, 1 or 2");
  expect_refused("-dump_iter -1", "-dump_iter -1 is not allowed", "from 0 on");
  expect_refused("-dump_iter 1.5", "-dump_iter 1.5 is not allowed", "from 0 on");
  expect_refused("-timeout -1", "-timeout -1 is not allowed", "seconds");
  expect_refused("-bucket_mb 0", "-bucket_mb 0 is not allowed", "MB");
  expect_refused("-timeout nan", "-timeout nan is not allowed", "seconds");
  expect_refused("-bucket_mb inf", "-bucket_mb inf is not allowed", "MB");
  expect_refused("-compress zip", "-compress zip is not allowed", "none, fp16, bf16, int8, or topk: and a share");
  expect_refused("-timeout=", "-timeout  is not allowed", "seconds");
  for (const char* bounds : {"", "2", "2:", ":8", "0:8", "8:2", "-1:4", "2:8:9", "2:x", "a:8"}) {
    expect_refused(std::string("-elastic=") + bounds, "is not allowed", "such as 2:8");
  }
  expect_refused("-elastic 2:8 -shard states", "would be gone, too", "leave one of them out");
  expect_refused("-mode b:4x2 -elastic 2:8", "-mode gives it as dims", "leave one of them out");
  expect_refused("-elastic 2:8 -timeout 0", "-timeout 0 has none", "give seconds");
  for (const char* fixed : {"-sets 0-1,2-3", "-sync_every 4", "-op adasum"})
    expect_refused(std::string("-elastic 2:8 ") + fixed, "which -", "leave one of them out");
  expect_refused("-elastik 2:8", "did you mean \"-elastic\"?", "known are");
  expect_refused("auto -mode r:4", "auto chooses", "leave one of them out");
  expect_refused("-sync_every 0", "-sync_every 0 is not allowed", "from 1 on");
  expect_refused("-sync_every 2 -slow_momentum 1", "-slow_momentum 1 is not allowed", "from 0 to below 1");
  expect_refused("-slow_momentum 0.5", "of which there are none", "give -sync_every, too");
  expect_refused("-op max", "-op max is not allowed", "give sum or adasum");
  for (const std::string steps : {"-sync_every 4", "-op adasum"}) {
    expect_refused(steps + " -mode r:4", "within the first dim alone", "give -mode b:XxY with it");
    expect_refused(steps + " auto", "within the first dim alone", "give -mode b:XxY with it");
    expect_refused(steps + " -compress bf16", "-compress rounds", "leave one of them out");
    expect_refused(steps + " -shard states", steps.substr(0, steps.find(' ')), "leave one of them out");
  }
  expect_refused("-op adasum -sync_every 4", "sums none over all ranks", "leave one of them out");
}

TEST(CheckDimsTest, IbmsWordsAndBothFixes) {
  check_dims(parse_ddl_options("-mode b:4x2x1"), 8);
  const std::string text = dims_error("b:4x1x1", 8);
  EXPECT_TRUE(contains(text, "invalid dim size=8 usr_size=4 dim[0]=4 dim[1]=1 dim[2]=1"));
  EXPECT_TRUE(contains(text, "-mode b:4x2x1,"));
  EXPECT_TRUE(contains(text, "the dims make 4 ranks, and 8 were started:"));
  EXPECT_TRUE(contains(text, "mpirun -n 4"));
  EXPECT_TRUE(contains(dims_error("b:1", 2), "the dims make 1 rank, and 2 were started:"));
  EXPECT_TRUE(contains(dims_error("b:2", 1), "the dims make 2 ranks, and 1 was started:"));
}

TEST(CheckDimsTest, NearestDimsKeepTheRanksOfAHost) {
  EXPECT_TRUE(contains(dims_error("n:4x8x2", 16), "-mode n:4x4x1,"));
  EXPECT_TRUE(contains(dims_error("r:2", 7), "-mode r:7,"));
  EXPECT_TRUE(contains(dims_error("c:4x2", 6), "-mode c:3x2,"));
  EXPECT_TRUE(contains(dims_error("p:2x2x2", 12), "-mode p:2x3x2,"));
  EXPECT_TRUE(contains(dims_error("b:1000000x1000000", 4), "usr_size=1000000000000 "));
  // A product that no number holds is none of a job's size either.
  EXPECT_TRUE(contains(dims_error("b:65536x65536x65536x65536", 4), "usr_size=9223372036854775807 "));
}

}  // namespace robusta::test::ddl_options_test
