#include "nvml.h"

#include <chrono>

#include "common/base/signals.h"

namespace harness {
namespace {

constexpr int SUCCESS = 0;
constexpr int CLOCK_SM = 1;
constexpr int SENSOR_GPU = 0;

}  // namespace

Nvml::Nvml(const std::string& pci_bus_id) : library_{"libnvidia-ml.so.1"} {
  int (*init)() = nullptr;
  int (*device_by_bus_id)(const char*, Device**) = nullptr;
  if (!library_.find(init, "nvmlInit_v2") || !library_.find(device_by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2"))
    return;
  if (init() != SUCCESS) return;
  initialised_ = true;
  library_.find(clock_, "nvmlDeviceGetClockInfo");
  library_.find(power_, "nvmlDeviceGetPowerUsage");
  library_.find(power_cap_, "nvmlDeviceGetEnforcedPowerLimit");
  library_.find(energy_, "nvmlDeviceGetTotalEnergyConsumption");
  library_.find(temperature_, "nvmlDeviceGetTemperature");
  library_.find(driver_, "nvmlSystemGetDriverVersion");
  if (device_by_bus_id(pci_bus_id.c_str(), &device_) != SUCCESS) device_ = nullptr;
}

Nvml::~Nvml() {
  int (*shutdown)() = nullptr;
  if (initialised_ && library_.find(shutdown, "nvmlShutdown")) shutdown();
}

std::optional<double> Nvml::sm_mhz() const {
  unsigned mhz = 0;
  if (device_ == nullptr || clock_ == nullptr || clock_(device_, CLOCK_SM, &mhz) != SUCCESS) return {};
  return mhz;
}

std::optional<double> Nvml::power_w() const {
  unsigned milliwatts = 0;
  if (device_ == nullptr || power_ == nullptr || power_(device_, &milliwatts) != SUCCESS) return {};
  return milliwatts / 1000.0;
}

std::optional<double> Nvml::power_cap_w() const {
  unsigned milliwatts = 0;
  if (device_ == nullptr || power_cap_ == nullptr || power_cap_(device_, &milliwatts) != SUCCESS) return {};
  return milliwatts / 1000.0;
}

std::optional<double> Nvml::energy_j() const {
  unsigned long long millijoules = 0;
  if (device_ == nullptr || energy_ == nullptr || energy_(device_, &millijoules) != SUCCESS) return {};
  return static_cast<double>(millijoules) / 1000.0;
}

std::optional<double> Nvml::temperature_c() const {
  unsigned celsius = 0;
  if (device_ == nullptr || temperature_ == nullptr || temperature_(device_, SENSOR_GPU, &celsius) != SUCCESS)
    return {};
  return celsius;
}

std::string Nvml::driver() const {
  char text[80] = "";
  if (!initialised_ || driver_ == nullptr || driver_(text, sizeof text) != SUCCESS) return "";
  return text;
}

PowerMeter::PowerMeter(const Nvml& nvml) {
  if (!nvml.available()) return;
  const base::SignalsBlocked blocked;
  thread_ = std::thread([this, &nvml] {
    while (!stopping_) {
      if (const auto mhz = nvml.sm_mhz()) mhz_sum_ += *mhz, ++mhz_count_;
      if (const auto power = nvml.power_w()) power_sum_ += *power, ++power_count_;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
}

void PowerMeter::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  thread_.join();
  if (mhz_count_ > 0) sm_mhz = mhz_sum_ / mhz_count_;
  if (power_count_ > 0) power_w = power_sum_ / power_count_;
}

}  // namespace harness
