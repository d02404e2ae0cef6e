# What the tests of launched ranks share: a folder of their own, and mpirun on this machine alone, also as root.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
# loopback only: a machine of the tests may have no network
export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo
ranks() { timeout 120 mpirun -n "$1" "${@:2}"; }
fail() { echo "$*"; exit 1; }
# Short fits of every method on people.csv, as options; and those that ranks can share by columns.
few=(--epochs 3 --batch-size 96)
tvae=(--method tvae "${few[@]}" --calibrate off)
ctgan=(--method ctgan "${few[@]}" --calibrate off --pac 4 --generator-dim 32 --discriminator-dim 32)
made=(--method made "${few[@]}")
timegan=(--method timegan --sequence-length 5 --iterations 8 --batch-size 64)
with_columns() { [[ $1 == tvae || $1 == ctgan ]]; }
# A checkpoint appears within 30 s. Between two generations only the older one has a name.
await_checkpoint() {
  for _ in $(seq 600); do
    [[ ! -e $1.checkpoint && ! -e $1.checkpoint.previous ]] || return 0
    sleep 0.05
  done
  cat said
  fail "no checkpoint was written"
}
