// Clocks and power of a GPU, from the driver's management library if there is one.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <thread>

#include "library.h"

namespace harness {

class Nvml {
 public:
  /// `pci_bus_id` as "0000:65:00.0". Without the library, or if it does not know the device, nothing is available.
  explicit Nvml(const std::string& pci_bus_id);
  ~Nvml();

  bool available() const { return device_ != nullptr; }
  std::optional<double> sm_mhz() const;       ///< now; reads about 10 % high under tensor-core load
  std::optional<double> power_w() const;      ///< the driver's own average over the last moments
  std::optional<double> power_cap_w() const;  ///< the limit in force
  std::optional<double> energy_j() const;     ///< used since the driver was loaded
  std::optional<double> temperature_c() const;
  std::string driver() const;  ///< "580.159.03", or empty

 private:
  struct Device;
  template <typename T>
  using Getter = int(Device*, T*);

  Library library_;
  Device* device_ = nullptr;
  bool initialised_ = false;
  int (*clock_)(Device*, int domain, unsigned* mhz) = nullptr;
  Getter<unsigned>* power_ = nullptr;
  Getter<unsigned>* power_cap_ = nullptr;
  Getter<unsigned long long>* energy_ = nullptr;
  int (*temperature_)(Device*, int sensor, unsigned* celsius) = nullptr;
  int (*driver_)(char* text, unsigned length) = nullptr;
};

/// Means of clock and power from construction to stop(), read every few milliseconds by a thread of its own.
class PowerMeter {
 public:
  explicit PowerMeter(const Nvml& nvml);
  ~PowerMeter() { stop(); }
  void stop();

  std::optional<double> sm_mhz, power_w;  ///< valid after stop()

 private:
  std::atomic<bool> stopping_{false};
  double mhz_sum_ = 0, power_sum_ = 0;
  int mhz_count_ = 0, power_count_ = 0;
  std::thread thread_;
};

}  // namespace harness
