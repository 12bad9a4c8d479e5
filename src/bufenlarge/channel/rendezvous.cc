// SPDX-License-Identifier: MIT
#include "channel/rendezvous.h"

#include <list>
#include <utility>

namespace bufenlarge {

template <class PortT>
bool Rendezvous<PortT>::service() {
  reader.service();
  responder.service();
  (void)one_sided.post();
  one_sided.finish();
  send_ring.flush();
  return reader.asks() || !one_sided.all_posted() || responder.pending();  // the callbacks may have ordered more
}

template <class PortT>
void Rendezvous<PortT>::on_data_written() {
  data.on_written([this](SourceRef<Port> source) {
    if (source)
      responder.end_use(std::move(source));
    else
      one_sided.on_written();
  });
  one_sided.finish();
  if (responder.pending() || !one_sided.all_posted()) link.want_service();
}

template <class PortT>
void Rendezvous<PortT>::end(Status status) {
  std::list<PendingRead<Port>> reads = reader.take_all();
  responder.forget();
  responder.end_sources(status);
  reader.end(reads, status);
  one_sided.fail(status);
}

}  // namespace bufenlarge
