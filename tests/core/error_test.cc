#include "core/error.h"

#include <gmock/gmock.h>

#include <cerrno>

namespace xylem {
namespace {

TEST(Error, CarriesACodeAndAMessage) {
  const Error error(ResultCode::kRemoteError, "rank {} of {} is gone", 3, 8);
  EXPECT_EQ(error.code(), ResultCode::kRemoteError);
  EXPECT_STREQ(error.what(), "rank 3 of 8 is gone");
}

TEST(Error, CodesAreNccls) {
  EXPECT_EQ(static_cast<int>(ResultCode::kSuccess), 0);
  EXPECT_EQ(static_cast<int>(ResultCode::kInvalidArgument), 4);
  EXPECT_EQ(static_cast<int>(ResultCode::kInProgress), 7);
}

TEST(InputError, SaysWhereWhatAndWhatWasExpected) {
  const InputError error({"dgx.xml", 12}, "gpu without `sm`", "the compute capability");
  EXPECT_EQ(error.code(), ResultCode::kInvalidArgument);
  EXPECT_STREQ(error.what(), "dgx.xml:12: found gpu without `sm`; expected the compute capability");
  EXPECT_EQ(error.location().file, "dgx.xml");
  EXPECT_EQ(error.location().line, 12);
  EXPECT_EQ(error.found(), "gpu without `sm`");
  EXPECT_EQ(error.expected(), "the compute capability");
}

TEST(InputError, TakesBracesLiterally) {
  EXPECT_STREQ(InputError({"a{}.xml", 0}, "{0}", "}{").what(), "a{}.xml: found {0}; expected }{");
}

TEST(SourceLocation, LineZeroIsTheWholeFile) {
  EXPECT_EQ(toString({"a.xml", 0}), "a.xml");
  EXPECT_EQ(toString({"a.xml", 1}), "a.xml:1");
}

TEST(ErrnoText, IsTheSystems) { EXPECT_EQ(errnoText(ENOENT), "No such file or directory"); }

}  // namespace
}  // namespace xylem
