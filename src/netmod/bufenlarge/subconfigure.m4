[#] start of __file__
dnl SPDX-License-Identifier: MIT
dnl MPICH_SUBCFG_AFTER=src/mpid/ch4

AC_DEFUN([PAC_SUBCFG_PREREQ_]PAC_SUBCFG_AUTO_SUFFIX,[
    AM_COND_IF([BUILD_CH4],[
        for net in $ch4_netmods ; do
            if test "$net" = "bufenlarge" ; then
                build_ch4_netmod_bufenlarge=yes
                AC_DEFINE(HAVE_CH4_NETMOD_BUFENLARGE,1,[bufenlarge netmod is built])
                if test "$build_ch4_locality_info" != "yes" ; then
                    AC_DEFINE(MPIDI_BUILD_CH4_LOCALITY_INFO, 1, [CH4 should build locality info])
                    build_ch4_locality_info="yes"
                fi
            fi
        done
    ])
    dnl Outside AM_COND_IF: automake needs the conditional whatever the device is.
    AM_CONDITIONAL([BUILD_CH4_NETMOD_BUFENLARGE],[test "X$build_ch4_netmod_bufenlarge" = "Xyes"])
])dnl

AC_DEFUN([PAC_SUBCFG_BODY_]PAC_SUBCFG_AUTO_SUFFIX,[
AM_COND_IF([BUILD_CH4_NETMOD_BUFENLARGE],[
    AC_MSG_NOTICE([RUNNING CONFIGURE FOR ch4:bufenlarge])

    dnl libbufenlarge is C++ with a C interface, an archive of position-independent code: it becomes
    dnl part of libmpi. --with-bufenlarge=PREFIX says where it is.
    PAC_SET_HEADER_LIB_PATH([bufenlarge])
    bufenlarge_pkg_path="$PKG_CONFIG_PATH"
    if test -n "$with_bufenlarge" -a "$with_bufenlarge" != "yes" ; then
        bufenlarge_pkg_path="$with_bufenlarge/lib/pkgconfig:$with_bufenlarge/lib64/pkgconfig:$bufenlarge_pkg_path"
    fi
    if PKG_CONFIG_PATH="$bufenlarge_pkg_path" pkg-config --exists bufenlarge 2>/dev/null ; then
        PAC_APPEND_FLAG([`PKG_CONFIG_PATH="$bufenlarge_pkg_path" pkg-config --cflags bufenlarge`],[CPPFLAGS])
        PAC_APPEND_FLAG([`PKG_CONFIG_PATH="$bufenlarge_pkg_path" pkg-config --libs-only-L bufenlarge`],[LDFLAGS])
        bufenlarge_deps=`PKG_CONFIG_PATH="$bufenlarge_pkg_path" pkg-config --static --libs-only-l --libs-only-other bufenlarge | sed -e 's/-lbufenlarge//'`
    else
        bufenlarge_deps="-lfabric -lsodium -lstdc++ -lm -lpthread"
    fi
    PAC_CHECK_HEADER_LIB([bufenlarge.h],[bufenlarge],[bufenlarge_version],
                         [bufenlarge_found=yes],[bufenlarge_found=no],[$bufenlarge_deps])
    if test "$bufenlarge_found" = "no" ; then
        AC_MSG_ERROR([ch4:bufenlarge needs libbufenlarge; give --with-bufenlarge=PREFIX])
    fi
    dnl The library of the C++ runtime has to be named, since MPICH links libmpi as C.
    PAC_LIBS_ADD([-lbufenlarge])
    for bufenlarge_lib in $bufenlarge_deps ; do
        PAC_LIBS_ADD([$bufenlarge_lib])
    done
])dnl end AM_COND_IF(BUILD_CH4_NETMOD_BUFENLARGE,...)
])dnl end _BODY

[#] end of __file__
