#!/usr/bin/env python3
"""One GRU layer forward and backward in PyTorch: on a GPU that is cuDNN's, with the reset gate after the product, as in this project's default cell.

    gru_layer.py [--device cuda] [--units 24 112] [--json FILE]           128 sequences of 24 steps, as many inputs as units

Microseconds, best of five runs, queued without a pause between; on a GPU also captured in a CUDA graph, without the
host's time.
"""
import argparse
import json
import time

import torch

BATCH, STEPS = 128, 24


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--units", type=int, nargs="*", default=[24, 112])
    parser.add_argument("--passes", type=int, default=100)
    parser.add_argument("--json", help="write the figures here")
    args = parser.parse_args()
    device = torch.device(args.device)
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    figures = {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version() if device.type == "cuda" else None}
    for units in args.units:
        layer = torch.nn.GRU(units, units, batch_first=True).to(device)
        x = torch.rand(BATCH, STEPS, units, device=device, requires_grad=True)
        seed = torch.rand(BATCH, STEPS, units, device=device)
        parameters = [x, *layer.parameters()]

        def forward():
            return layer(x)[0]

        def both():
            return torch.autograd.grad(layer(x)[0], parameters, seed)

        def best(go):
            def run(passes):
                wait()
                start = time.perf_counter()
                for _ in range(passes):
                    go()
                wait()
                return (time.perf_counter() - start) / passes
            run(5)
            return min(run(args.passes) for _ in range(5))

        found = {"forward_seconds": best(forward), "seconds": best(both)}
        if device.type == "cuda":
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                for _ in range(3):
                    both()
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                both()
            found["captured_seconds"] = best(graph.replay)
        figures[f"gru_{units}"] = found
        print(f"GRU layer of {units} units, PyTorch {figures['torch']}, cuDNN {figures['cudnn']}, forward and backward: "
              + ", ".join(f"{name} {1e6 * found[key]:.0f} us" for name, key in (("eager", "seconds"), ("captured", "captured_seconds")) if key in found))
    if args.json:
        with open(args.json, "w") as out:
            json.dump(figures, out, indent=2)


if __name__ == "__main__":
    main()
