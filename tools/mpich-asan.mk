# SPDX-License-Identifier: MIT
# tools/mpich-asan runs make with this file in a build folder of MPICH. It links another libmpi from the objects
# there, with the netmod's objects and libbufenlarge compiled under the sanitizers.
#   asan_out    folder for what is made      asan_library  folder of the instrumented libbufenlarge.a
include Makefile

asan_flags = -fsanitize=address -fsanitize=undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g
asan_netmod = src/mpid/ch4/netmod/bufenlarge
asan_objects = $(patsubst $(asan_netmod)/lib_libmpi_la-%.lo,$(asan_out)/netmod-%.lo,$(lib_libmpi_la_OBJECTS))

$(asan_out)/netmod-%.lo: $(srcdir)/$(asan_netmod)/%.c
	@echo "  making $(@F)"
	@$(LIBTOOL) --silent --tag=CC --mode=compile $(CC) $(DEFS) $(DEFAULT_INCLUDES) $(INCLUDES) \
	  $(lib_libmpi_la_CPPFLAGS) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) $(asan_flags) -c -o $@ $<

$(asan_out)/libmpi.la: $(asan_objects) $(asan_library)/libbufenlarge.a
	@echo "  making $(@F)"
	@$(LIBTOOL) --silent --tag=CC --mode=link $(CCLD) $(CFLAGS) $(addprefix -Wc$(asan_comma),$(asan_flags)) \
	  $(lib_libmpi_la_LDFLAGS) -L$(asan_library) $(LDFLAGS) -o $@ -rpath $(libdir) \
	  $(asan_objects) $(lib_libmpi_la_LIBADD) $(LIBS)

asan_comma = ,
