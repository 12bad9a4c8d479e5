#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes configure and Makefile.in. Needs autoconf 2.69, automake 1.16 and pkg-config's macros.
set -eu
cd "$(dirname "$0")"
for tool in autoreconf automake aclocal pkg-config; do
    command -v "$tool" >/dev/null || {
        echo "autogen.sh: error: the program '$tool' is needed" \
            "(Debian: apt-get install autoconf automake pkg-config)" >&2
        exit 1
    }
done
exec autoreconf --install --warnings=all,no-portability
