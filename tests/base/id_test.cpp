// Ids of different kinds do not mix, and vectors take their own kind alone: most of it is the compiler's work.

#include "base/id.h"

#include <gtest/gtest.h>

#include <concepts>
#include <sstream>
#include <string>

namespace robusta::test::id_test {
namespace {

using CatId = Id<struct CatTag>;
using DogId = Id<struct DogTag>;

template <class A, class B>
concept Comparable = requires(A a, B b) {
  a == b;
};
template <class Vector, class Index>
concept IndexedBy = requires(Vector vector, Index index) {
  vector[index];
};

static_assert(sizeof(CatId) == sizeof(int));
static_assert(!std::convertible_to<int, CatId> && !std::convertible_to<CatId, int>);
static_assert(!std::convertible_to<CatId, DogId> && !std::constructible_from<DogId, CatId>);
static_assert(Comparable<CatId, CatId> && !Comparable<CatId, DogId> && !Comparable<CatId, int>);
static_assert(IndexedBy<IdVector<CatId, char>, CatId>);
static_assert(!IndexedBy<IdVector<CatId, char>, DogId> && !IndexedBy<IdVector<CatId, char>, int>);

TEST(Id, ADefaultOneNamesNothing) {
  EXPECT_FALSE(CatId());
  EXPECT_EQ(CatId(), CatId::none());
  EXPECT_TRUE(CatId(0));
  EXPECT_LT(CatId::none(), CatId(0));
}

TEST(Id, CountsLikeAPosition) {
  CatId cat(3);
  EXPECT_EQ(++cat, CatId(4));
  EXPECT_EQ(cat - 1, CatId(3));
  EXPECT_EQ(cat + 2 - cat, 2);
  EXPECT_EQ(cat.index(), 4u);
  std::ostringstream out;
  out << cat;
  EXPECT_EQ(out.str(), "4");
}

TEST(IdVector, HandsOutTheIdsOfItsItems) {
  IdVector<CatId, std::string> names;
  const CatId tom = names.push_back("Tom"), kitty = names.push_back("Kitty");
  EXPECT_EQ(names[tom], "Tom");
  EXPECT_EQ(names[kitty], "Kitty");
  EXPECT_EQ(names.end_id(), kitty + 1);
  EXPECT_TRUE(names.contains(kitty));
  EXPECT_FALSE(names.contains(names.end_id()) || names.contains(CatId::none()));
}

TEST(IdVector, WalksItsIdsBothWays) {
  const IdVector<CatId, int> ages{5, 7, 9};
  std::string forth, back;
  for (const CatId cat : ages.ids()) forth += std::to_string(ages[cat]);
  for (const CatId cat : ages.ids().reversed()) back += std::to_string(ages[cat]);
  EXPECT_EQ(forth, "579");
  EXPECT_EQ(back, "975");
  for (const CatId cat : (IdVector<CatId, int>().ids().reversed())) FAIL() << cat;
}

}  // namespace
}  // namespace robusta::test::id_test
