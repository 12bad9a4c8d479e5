# SPDX-License-Identifier: MIT
"""Spack's recipe for bufenlarge: the library, and MPICH with the netmod."""

import os

from spack.package import *


class Bufenlarge(AutotoolsPackage):
    """Network module for MPICH on clusters with Ethernet: message channels over RDMA rings that
    start small and grow only where they must. It runs over RoCE, iWARP and TCP, by libfabric."""

    # "make dist" makes the release archive from the tree, and spack takes it from the folder that
    # it runs in. It is not released yet and so has no digest here: spack install --no-checksum.
    manual_download = True
    url = f"file://{os.getcwd()}/bufenlarge-0.1.0.tar.xz"

    license("MIT")

    version("0.1.0")

    variant("mpi", default=True, description="MPICH 4.0.2 with the netmod, beside the library")
    variant("verbs", default=True, description="RoCE and iWARP; without it only TCP")
    variant("fortran", default=False, when="+mpi", description="Fortran bindings of MPICH")
    variant("cxx", default=False, when="+mpi", description="C++ bindings of MPICH, and mpicxx")
    variant("romio", default=False, when="+mpi", description="MPI-IO")
    variant(
        "vcis",
        default="1",
        values=("1", "2", "4", "8", "16"),
        multi=False,
        when="+mpi",
        description="the most VCIs of a process, each with a lock of its own if there are several",
    )

    provides("mpi@:4.0", when="+mpi")

    resource(
        name="mpich",
        url="https://www.mpich.org/static/downloads/4.0.2/mpich-4.0.2.tar.gz",
        sha256="5a42f1a889d4a2d996c26e48cbf9c595cbf4316c6814f7c181e3320d21dedd42",
        placement="mpich-source",
        when="+mpi",
    )

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("catch2@2", type="test")
    depends_on("xxhash@0.8:", type="build")
    depends_on("libsodium@1.0.16:")
    depends_on("libfabric@1.17: fabrics=tcp", when="~verbs")
    depends_on("libfabric@1.17: fabrics=tcp,verbs", when="+verbs")

    # MPICH's build system is made again, for the netmod is added to it.
    with when("+mpi"):
        depends_on("autoconf@2.69:", type="build")
        depends_on("automake@1.15:", type="build")
        depends_on("libtool", type="build")
        depends_on("m4", type="build")
        depends_on("perl", type="build")
        depends_on("python@3:", type="build")
        depends_on("hwloc@2:")

    conflicts("%gcc@:11", msg="bufenlarge is C++20: GCC 12 or later")
    conflicts("%clang@:13", msg="bufenlarge is C++20: Clang 14 or later")
    conflicts("platform=darwin", msg="bufenlarge needs Linux")

    @property
    def libs(self):
        if self.spec.satisfies("~mpi"):
            return find_libraries("libbufenlarge", root=self.prefix, shared=False, recursive=True)
        names = ["libmpi"]
        if self.spec.satisfies("+cxx"):
            names.insert(0, "libmpicxx")
        return find_libraries(names, root=self.prefix, shared=True, recursive=True)

    def mpich_flags(self):
        flags = [f"--with-hwloc={self.spec['hwloc'].prefix}"]
        # "make mpich" builds what is not disabled here.
        for part in ("fortran", "cxx", "romio"):
            wanted = "enable" if self.spec.satisfies(f"+{part}") else "disable"
            flags.append(f"--{wanted}-{part}")
        vcis = self.spec.variants["vcis"].value
        if vcis != "1":
            flags += ["--enable-thread-cs=per-vci", f"--with-ch4-max-vcis={vcis}"]
        return " ".join(flags)

    def configure_args(self):
        if self.spec.satisfies("~mpi"):
            return []
        source = join_path(self.stage.source_path, "mpich-source")
        return [f"--with-mpich-source={source}", f"--with-mpich-flags={self.mpich_flags()}"]

    def install(self, spec, prefix):
        """Installs the library; "make mpich" does that too, before it builds MPICH."""
        with working_dir(self.build_directory):
            make("mpich" if spec.satisfies("+mpi") else "install")

    # mpicc names the compiler, not Spack's wrapper of it.
    filter_compiler_wrappers("mpicc", "mpicxx", "mpifort", relative_root="bin")

    def setup_build_environment(self, env):
        # MPICH's configure refuses them.
        env.unset("F90")
        env.unset("F90FLAGS")

    def setup_run_environment(self, env):
        if self.spec.satisfies("~mpi"):
            return
        for name, program in self.wrappers().items():
            env.set(name, join_path(self.prefix.bin, program))

    def setup_dependent_build_environment(self, env, dependent_spec):
        module = dependent_spec.package.module
        for name, attribute in (
            ("MPICH_CC", "spack_cc"),
            ("MPICH_CXX", "spack_cxx"),
            ("MPICH_FC", "spack_fc"),
            ("MPICH_F90", "spack_fc"),
            ("MPICH_F77", "spack_f77"),
        ):
            if self.spec.satisfies("+mpi") and hasattr(module, attribute):
                env.set(name, getattr(module, attribute))

    def setup_dependent_package(self, module, dependent_spec):
        if self.spec.satisfies("~mpi"):
            return
        attributes = {"MPICC": "mpicc", "MPICXX": "mpicxx", "MPIF90": "mpifc", "MPIF77": "mpif77"}
        for name, program in self.wrappers().items():
            setattr(self.spec, attributes[name], join_path(self.prefix.bin, program))

    def wrappers(self):
        """The compiler wrappers that this build has, by the variable that names each."""
        found = {"MPICC": "mpicc"}
        if self.spec.satisfies("+cxx"):
            found["MPICXX"] = "mpicxx"
        if self.spec.satisfies("+fortran"):
            found.update(MPIF90="mpif90", MPIF77="mpif77")
        return found

    def test_info(self):
        """bufenlarge_info names its version"""
        info = Executable(join_path(self.prefix.bin, "bufenlarge_info"))
        assert str(self.spec.version) in info("--version", output=str)
