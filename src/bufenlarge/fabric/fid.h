// SPDX-License-Identifier: MIT
// Owners of libfabric objects. Who opens an object hands it to its owner at once. Members of a class are closed
// in the reverse of their order, so an object stands behind those it uses. When fi_close(3) fails, the owner
// prints it and goes on: no caller could act on it.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <cstdio>
#include <memory>

namespace bufenlarge {

struct FidDeleter {
  template <class Fid>
  void operator()(Fid* object) const {
    const int code = fi_close(&object->fid);
    if (code != 0) std::fprintf(stderr, "bufenlarge: fi_close: %s\n", fi_strerror(-code));
  }
};

struct InfoDeleter {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};

using FabricFid = std::unique_ptr<fid_fabric, FidDeleter>;
using DomainFid = std::unique_ptr<fid_domain, FidDeleter>;
using QueueFid = std::unique_ptr<fid_cq, FidDeleter>;
using EventQueueFid = std::unique_ptr<fid_eq, FidDeleter>;
using SharedReceiveFid = std::unique_ptr<fid_ep, FidDeleter>;
using ListenerFid = std::unique_ptr<fid_pep, FidDeleter>;
using EndpointFid = std::unique_ptr<fid_ep, FidDeleter>;
using RegionFid = std::unique_ptr<fid_mr, FidDeleter>;
using InfoPtr = std::unique_ptr<fi_info, InfoDeleter>;

}  // namespace bufenlarge
