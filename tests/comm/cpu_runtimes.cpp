#include "comm/local_world.hpp"
#include "comm/runtimes.hpp"
#include "tensor/cpu_backend.hpp"

namespace culprit::test {
namespace {

// Ranks that look out for their peers before they sleep, as on a device.
class PatientCpuThreads final : public Runtime {
 public:
  std::unique_ptr<Backend> make_backend(int world_rank, DType dtype) override {
    return device_->make_backend(world_rank, dtype);
  }
  std::unique_ptr<World> make_world(int size) override {
    return std::make_unique<LocalWorld>(size, std::chrono::microseconds(200));
  }
  std::string description() const override { return "CPU, patient"; }

 private:
  std::unique_ptr<Device> device_ = make_cpu_device();
};

Runtime& patient_cpu_threads() {
  static PatientCpuThreads runtime;
  return runtime;
}

}  // namespace

std::vector<RuntimeUnderTest> runtimes_under_test() {
  auto list = in_every_type("CpuThreads", cpu_threads);
  list.push_back({"PatientCpuThreads", DType::kFloat32, patient_cpu_threads});
  return list;
}

}  // namespace culprit::test
