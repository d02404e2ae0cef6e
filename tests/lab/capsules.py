#!/usr/bin/env python3
"""Capsules beyond the page (page.py): launches of every kind run again, and kernels that are wrong in other ways.

    capsules.py <tessera> <build folder>
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/lab/series"))
import series  # noqa: E402
NARROW = ["batch_size=50", "generator_dim=64,64", "discriminator_dim=64,64", "embedding_dim=32"]
# Of ctgan, narrow: draws and gathers; slices of a product; their sum and a chain of rows; columns and updates.
LAUNCHES = (1, 4, 6, 17)
failures = 0


def capsule(*arguments):
    done = subprocess.run([sys.executable, ROOT / "bench/lab/capsule/capsule.py", *map(str, arguments)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout


def expect(what, result, code, text):
    global failures
    if result[0] != code or text not in result[1]:
        failures += 1
        print(f"{what}: exit code {result[0]}, expected {code} and \"{text}\"\n{result[1]}")


def main(tessera, build):
    os.environ["TESSERA_BUILD"] = str(pathlib.Path(build).resolve())
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        subprocess.run([tessera, "example", "people.csv", "--rows", "1000", "--seed", "1", "--quiet"], check=True)
        for launch in LAUNCHES:
            made = capsule("write", "people.csv", *NARROW, "--launch", launch, "-o", "x")
            expect(f"launch {launch}", made, 0, "written")
            original = capsule("source", "x")[1]
            pathlib.Path("x.cu").write_text(original)
            expect(f"launch {launch}", capsule("run", "x", "--source", "x.cu"), 0, "the bits of the original")
            if launch == 6:  # without NVRTC the reason is printed
                on_ptx = capsule("run", "x", "--source", "x.cu", "--on", "ptx")
                if "NVRTC" not in on_ptx[1] and "nvrtc" not in on_ptx[1]:
                    expect("as PTX", on_ptx, 0, "the bits of the original")
                    plugin = pathlib.Path(os.environ["TESSERA_BUILD"]) / "tests/ptx/libtessera_ptx_plugin.so"
                    if plugin.exists():  # the way of a GPU, on a device that executes PTX
                        os.environ.update(TESSERA_CUDA_PLUGIN=str(plugin), TESSERA_SMALL="1",
                                          TESSERA_LAB_ARCHITECTURE="compute_90")
                        expect("as on a GPU", capsule("run", "x", "--source", "x.cu", "--on", "cuda"), 0, "the original")

        # Of the last launch, whose parameters begin with a value that it reads or writes.
        def changed(before, after):
            assert before in original, before
            pathlib.Path("x.cu").write_text(original.replace(before, after, 1))
            return capsule("run", "x", "--source", "x.cu")

        begin = "  TESS_SHARED(shared, float[kSharedFloats]);\n"
        name = original.split("uint32_t ")[1].split(",")[0]
        outside = f"  p.at<float>(p.{name})[-1] = 0;\n"
        expect("a write outside", changed(begin, begin + outside), 1, "outside of an allocation")
        cuda = ("  __shared__ __align__(16) float a[4][2], b;\n  __shared__ unsigned int c[8];\n"
                "  a[3][1] = 0, b = 0, c[7] = 0;\n")
        expect("all threads write", changed(begin, begin + cuda), 1, "a race in shared memory")
        expect("one thread writes", changed(begin, begin + "  if (threadIdx.x == 0) {\n" + cuda + "}\n"), 0, "accepted")
        expect("dynamic", changed(begin, "  extern __shared__ float a[];\n"), 2, "Dynamic shared memory")
        expect("a barrier for some", changed(begin, begin + "  if (threadIdx.x == 0) return;\n"), 1, "have returned")
        expect("other parameters", changed("  int n1", "  int zero[4], n1"), 2, "leave it as the capsule has it")
        expect("one more, of which the size tells nothing", changed("  int n1", "  uint32_t one;\n  int n1"), 2,
               "leave it as the capsule has it")
        name = re.search(r"launch_\d+", original)[0]
        expect("another kernel", changed(f", 2) {name}(", f", 2) {name}0("), 2, f"defines no {name}")
        expect("CUDA as C++", capsule("run", "x", "--source", "x.cu", "--on", "processor"), 2, "takes a C++ function")
        expect("C++ as CUDA", changed("__global__", ""), 2, "a C++ function runs with --on processor")
        expect("a division by 0", changed(begin, begin + "  volatile int none = 0;\n  none = 7 / none;\n"), 2, "SIGFPE")
        expect("no C++", changed(begin, "  what\n"), 2, "x.cu:")
        expect("too large", capsule("write", "people.csv", "--launch", 16, "-o", "y"), 2, "a capsule holds 4 MB")
        expect("no length", capsule("write", "people.csv", "--method", "timegan", "--launch", 1, "-o", "y"), 2,
               "give sequence_length=24")
        expect("layers beside others", capsule("write", "people.csv", "sequence_length=24", "batch_size=16", "--method",
                                               "timegan", "--launch", 1, "-o", "y"), 2, "recurrent has no text")
        number, options = series.launch_of("gru", tessera, pathlib.Path("people.csv"), pathlib.Path.cwd())
        expect("layers", capsule("write", "people.csv", *options, "--launch", number, "-o", "y"), 0, "written")
        pathlib.Path("y.cu").write_text(capsule("source", "y")[1])
        expect("layers", capsule("run", "y", "--source", "y.cu"), 0, "the bits of the original")
        expect("no such launch", capsule("write", "people.csv", *NARROW, "--launch", 99, "-o", "y"), 2, "launches 1 to")
        expect("no capsule", capsule("show", "people.csv"), 2, "is not a capsule")
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
