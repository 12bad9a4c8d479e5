// SPDX-License-Identifier: MIT
// bufenlarge_info: prints the knobs, what a job would use on this machine, and the files that are made from
// the tables of knobs.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>

#include "../netmod/bufenlarge/bufenlarge_event_table.h"
#include "../netmod/bufenlarge/bufenlarge_knob_table.h"
#include "../netmod/bufenlarge/bufenlarge_pvar_table.h"
#include "fabric/fabric_port.h"
#include "info_draw.h"
#include "info_error.h"
#include "info_memory.h"
#include "knobs.h"
#include "version.h"

namespace {

using bufenlarge::Knob;
using bufenlarge::Knobs;

// The knobs that only the netmod reads.
constexpr Knob kNetmodKnobs[] = {
#define BUFENLARGE_NETMOD_KNOB(name, reader, default_text, allowed, meaning) \
  Knob{#name, default_text, allowed, meaning},
    MPIDI_BUFENLARGE_KNOBS(BUFENLARGE_NETMOD_KNOB)
#undef BUFENLARGE_NETMOD_KNOB
};

template <class Print>
void for_each_knob(Print print) {
  for (const Knob& knob : bufenlarge::knobs()) print(knob);
  for (const Knob& knob : kNetmodKnobs) print(knob);
}

constexpr const char* kUsage =
    "usage: bufenlarge_info [--devices | --knobs | --knobs-markdown | --knobs-man | --mpich-cvars |\n"
    "                        --variables-markdown | --memory RANKS [OPTION...] | --draw-memory FILE... |\n"
    "                        --version | --help]\n"
    "  --devices         print provider, device, address and protocol that a job would use here (default)\n"
    "  --knobs           print every knob with its default and what is allowed\n"
    "  --knobs-markdown  print docs/knobs.md\n"
    "  --knobs-man       print the list of knobs in bufenlarge(7), in the language mdoc\n"
    "  --mpich-cvars     print the C header that declares the knobs as MPI_T variables of MPICH\n"
    "  --variables-markdown  print docs/performance-variables.md\n"
    "  --memory RANKS    print what a job takes, of a process and of a node, beside other transports; with\n"
    "      --per-node P        ranks on each node (default 1)\n"
    "      --pattern PATTERN   alltoall (default), neighbours:N, hub\n"
    "      --message BYTES     the largest message (default 0)\n"
    "      --fabric FABRIC     roce (default), iwarp, rxe, siw, tcp\n"
    "      --json              the same as JSON\n"
    "    The knobs in the environment count.\n"
    "  --draw-memory FILE...  print a picture (SVG) of the memory that a job wrote with MEMORY_LOG\n"
    "  --version         print the version\n";

int print_knobs() {
  for_each_knob([](const Knob& knob) {
    std::printf("MPIR_CVAR_BUFENLARGE_%s\n  default: %s\n  allowed: %s\n", knob.name, knob.default_text,
                knob.allowed);
  });
  return 0;
}

int print_markdown() {
  std::printf("# Knobs\n\n`bufenlarge_info --knobs-markdown` makes this page from `src/bufenlarge/knob_table.h` and\n"
              "`src/netmod/bufenlarge/bufenlarge_knob_table.h`.\n"
              "Set them in the environment of `mpirun`; a wrong value stops `MPI_Init` with the knob, the "
              "value and what is allowed.\n\n| knob | default | allowed | meaning |\n|---|---|---|---|\n");
  for_each_knob([](const Knob& knob) {
    std::printf("| `MPIR_CVAR_BUFENLARGE_%s` | %s%s%s | %s | %s |\n", knob.name,
                *knob.default_text == 0 ? "" : "`", knob.default_text, *knob.default_text == 0 ? "" : "`",
                knob.allowed, knob.meaning);
  });
  return 0;
}

// Prints text of mdoc: each sentence begins a line, as its readers want, and none begins with a sign of a macro.
void print_sentences(std::string_view text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t stop = std::min(text.find(". ", begin), text.size() - 1);
    const std::string_view sentence = text.substr(begin, stop + 1 - begin);
    if (sentence.starts_with('.') || sentence.starts_with('\'')) std::printf("\\&");
    for (const char c : sentence) std::printf(c == '\\' ? "\\e" : "%c", c);
    std::printf("\n");
    begin = stop + 2;
  }
}

int print_man() {
  for_each_knob([](const Knob& knob) {
    std::printf(".It Ev MPIR_CVAR_BUFENLARGE_%s\n", knob.name);
    print_sentences(knob.meaning);
    std::printf(".Pp\nAllowed: %s.\n.br\nDefault: %s%s\n", knob.allowed, *knob.default_text == 0 ? "empty" : "",
                knob.default_text);
  });
  return 0;
}

// MPICH reads the block below with maint/extractcvars. All variables are strings: the library and the
// netmod read them, so that the error about a wrong one is the same everywhere.
int print_mpich_cvars() {
  std::printf("/* SPDX-License-Identifier: MIT */\n/* Made by bufenlarge_info --mpich-cvars. */\n"
              "#ifndef BUFENLARGE_CVARS_H_INCLUDED\n#define BUFENLARGE_CVARS_H_INCLUDED\n\n/*\n"
              "=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===\n\ncategories :\n    - name : BUFENLARGE\n"
              "      description : Knobs of the ch4:bufenlarge netmod\n\ncvars:\n");
  for_each_knob([](const Knob& knob) {
    std::printf("    - name        : MPIR_CVAR_BUFENLARGE_%s\n      category    : BUFENLARGE\n"
                "      type        : string\n      default     : \"%s\"\n      class       : none\n"
                "      verbosity   : MPI_T_VERBOSITY_USER_BASIC\n      scope       : MPI_T_SCOPE_ALL_EQ\n"
                "      description : >-\n        %s Allowed: %s.\n\n",
                knob.name, knob.default_text, knob.meaning, knob.allowed);
  });
  const auto print_library_row = [](const Knob& knob) {
    std::printf(" \\\n    X(\"%s\", MPIR_CVAR_BUFENLARGE_%s)", knob.name, knob.name);
  };
  const auto print_row = [](const Knob& knob) {
    std::printf(" \\\n    X(\"%s\", MPIR_CVAR_BUFENLARGE_%s, \"%s\")", knob.name, knob.name, knob.default_text);
  };
  std::printf("=== END_MPI_T_CVAR_INFO_BLOCK ===\n*/\n\n#define MPIDI_BUFENLARGE_FOREACH_LIBRARY_KNOB(X)");
  for (const Knob& knob : bufenlarge::knobs()) print_library_row(knob);
  std::printf("\n\n#define MPIDI_BUFENLARGE_FOREACH_KNOB(X)");
  for_each_knob(print_row);
  std::printf("\n\n#endif /* BUFENLARGE_CVARS_H_INCLUDED */\n");
  return 0;
}

void print_variable(const char* name, const char* kind, const char* meaning) {
  std::printf("| `bufenlarge_%s` | %s | %s |\n", name, kind, meaning);
}

void print_element(const char* name, const char* meaning) { std::printf("| `%s` | %s |\n", name, meaning); }

// The data of an event is named in the table as RING or LOSS.
void print_events() {
#define PRINT_EVENT(name, data, meaning) print_variable(#name, #data, meaning);
#define PRINT_ELEMENT(name, meaning) print_element(#name, meaning);
  constexpr const char* kElements = "| element | value |\n|---|---|\n";
  std::printf("\n## Events\n\nThe table is `src/netmod/bufenlarge/bufenlarge_event_table.h`. MPICH has events where it "
              "was configured with\n--enable-mpit-events=yes, as `./quickstart` does; its own default is without, and "
              "then there are none. A program or a\ntool finds them after MPI_Init by MPI_T_event_get_index, and "
              "registers handlers by MPI_T_event_handle_alloc and\nMPI_T_event_register_callback. All elements are "
              "unsigned long long, the i-th of them at byte 8 i.\n\n"
              "MPI calls handlers in a later round of progress, the last ones in MPI_Finalize, one at a time and in "
              "the order in\nwhich things happened; MPI_T_event_get_timestamp says when, in nanoseconds of "
              "CLOCK_MONOTONIC. It calls them with\nMPI_T_CB_REQUIRE_MPI_RESTRICTED; with MPI_THREAD_MULTIPLE, until "
              "MPI_Finalize, with MPI_T_CB_REQUIRE_THREAD_SAFE. It\ndoes not call one that was registered for "
              "MPI_T_CB_REQUIRE_NONE. No lock that MPI_T needs is held meanwhile, so a\nhandler may read events and "
              "variables. What is told of sends is what the variables count, and what is told of\nreceives is what "
              "the summary counts beside them. Only a ring that changes pays for "
              "events, not a message. From\nthe last barrier "
              "of MPI_Finalize on, in which processes leave, no loss is told.\n\n"
              "| event | elements | when |\n|---|---|---|\n");
  MPIDI_BUFENLARGE_EVENTS(PRINT_EVENT)
  std::printf("\nElements of RING:\n\n%s", kElements);
  MPIDI_BUFENLARGE_RING_ELEMENTS(PRINT_ELEMENT)
  std::printf("\nElements of LOSS:\n\n%s", kElements);
  MPIDI_BUFENLARGE_LOSS_ELEMENTS(PRINT_ELEMENT)
#undef PRINT_EVENT
#undef PRINT_ELEMENT
}

int print_variables() {
#define PRINT_VARIABLE(name, kind, field, meaning) print_variable(#name, #kind, meaning);
  constexpr const char* kHead = "| variable | class | value |\n|---|---|---|\n";
  std::printf("# Performance variables\n\n`bufenlarge_info --variables-markdown` makes this page from\n"
              "`src/netmod/bufenlarge/bufenlarge_pvar_table.h`. A program or a tool reads these variables while the "
              "job runs, by\nthe functions MPI_T_pvar_get_info, MPI_T_pvar_handle_alloc and MPI_T_pvar_read; "
              "`mpivars` of MPICH lists them. All are\nunsigned long long, read-only, need not be started, and count "
              "from MPI_Init on. COUNTER only grows, LEVEL is as it is\nnow. The knobs are control variables "
              "([knobs.md](knobs.md)). A variable that is not read costs nothing.\n\n"
              "## Of the process\n\n%s", kHead);
  MPIDI_BUFENLARGE_PVARS(PRINT_VARIABLE)
  std::printf("\n## Of its channels\n\nThese are bound to a communicator, and have a value for each of its ranks; "
              "of an intercommunicator for the remote ones.\n\n%s", kHead);
  MPIDI_BUFENLARGE_CHANNEL_PVARS(PRINT_VARIABLE)
#undef PRINT_VARIABLE
  print_events();
  return 0;
}

int print_devices() {
  const bufenlarge::FabricPort port({});
  std::printf("provider  %s\nprotocol  %s\ndevice    %s\naddress   %s\narrival   %s: %s\n",
              bufenlarge::provider_name(port.info()).c_str(), bufenlarge::protocol_name(port.info()).c_str(),
              bufenlarge::domain_name(port.info()).c_str(), port.address().text().c_str(),
              bufenlarge::arrival_name(port.arrival()),
              port.arrival_reason().c_str());
  rlimit locked{};
  if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur != RLIM_INFINITY)
    std::printf("memlock   %llu bytes may be pinned (ulimit -l)\n",
                static_cast<unsigned long long>(locked.rlim_cur));
  return 0;
}

int run(int count, char** arguments, char** environment) {
  const std::string_view what = count > 1 ? arguments[1] : "--devices";
  if (what == "--devices") return print_devices();
  if (what == "--knobs") return print_knobs();
  if (what == "--knobs-markdown") return print_markdown();
  if (what == "--knobs-man") return print_man();
  if (what == "--mpich-cvars") return print_mpich_cvars();
  if (what == "--variables-markdown") return print_variables();
  const bool with_more = count > 2;
  if (what == "--memory" && with_more) {
    bufenlarge::print_memory({arguments + 2, arguments + count}, environment);
    return 0;
  }
  if (what == "--draw-memory" && with_more) {
    bufenlarge::draw_memory({arguments + 2, arguments + count});
    return 0;
  }
  if (what == "--version") return std::printf("bufenlarge %s\n", bufenlarge::kVersionText) < 0;
  std::fputs(kUsage, what == "--help" ? stdout : stderr);
  return what == "--help" ? 0 : 2;
}

}  // namespace

int main(int count, char** arguments, char** environment) {
  try {
    return run(count, arguments, environment);
  } catch (const bufenlarge::InfoError& error) {
    std::fprintf(stderr, "bufenlarge_info: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bufenlarge_info: %s\n", error.what());
    return 1;
  }
}
