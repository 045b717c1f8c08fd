// What MpiPath itself promises, in two processes; the communicators' contract is tested above it.
#include "mpi/mpi_path.hpp"

#include <array>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/cpu_backend.hpp"

namespace culprit::mpi {
namespace {

class MpiPathTest : public ::testing::Test {
 protected:
  MpiPathTest() { MPI_Comm_rank(MPI_COMM_WORLD, &rank_); }
  std::shared_ptr<PathPart> start(int tag, std::vector<float>& values) {
    auto* const memory = reinterpret_cast<std::byte*>(values.data());
    return path_.start(*backend_, {0, 1}, static_cast<std::size_t>(rank_), tag,
                       {.kind = ExchangeKind::kSum,
                        .mine = memory,
                        .result = memory,
                        .num_elements = static_cast<std::int64_t>(values.size())});
  }

  int rank_ = 0;
  std::unique_ptr<Backend> backend_ = make_cpu_backend(DType::kFloat32);
  MpiPath path_{MPI_COMM_WORLD};
};

// A tag comes again when the numbers of calls have gone round.
TEST_F(MpiPathTest, PartsOfAnAbandonedCollectiveAreNotThoseOfALaterOneWithItsTag) {
  constexpr int kTag = 5;
  // Of other lengths too, as where the ranks did not come with equally much.
  std::vector<float> first(static_cast<std::size_t>(2 + 3 * rank_), 1.0F),
      second(2, 10.0F + static_cast<float>(rank_));
  start(kTag, first)->abandon();
  start(kTag, second)->take();
  EXPECT_EQ(second, (std::vector<float>(2, 21.0F)));
}

TEST_F(MpiPathTest, ItsLargestTagIsMpis) {
  std::vector<float> values(1, 1.0F);
  start(path_.largest_tag(), values)->take();
  EXPECT_EQ(values[0], 2.0F);
}

}  // namespace
}  // namespace culprit::mpi

int main(int argc, char** argv) {
  int given = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &given);
  ::testing::InitGoogleTest(&argc, argv);
  const int status = RUN_ALL_TESTS();
  MPI_Finalize();
  return status;
}
