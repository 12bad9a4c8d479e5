// SPDX-License-Identifier: MIT
// Which network devices are near the processors of this process.
#pragma once

#include <string>

namespace bufenlarge {

// Returns whether the device behind a network interface is near a processor that the calling thread may run on: whether
// the device's local_cpulist (the kernel's Documentation/ABI/testing/sysfs-bus-pci) has one of sched_getaffinity(2). An
// interface that has no device, as a bridge, or about which the kernel says nothing, counts as near. `folder` is where
// the kernel lists the interfaces.
[[nodiscard]] bool is_near(const std::string& interface_name, const std::string& folder = "/sys/class/net");

}  // namespace bufenlarge
