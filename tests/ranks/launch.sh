# What the tests of launched ranks share: a folder of their own, and mpirun on this machine alone, also as root.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
# loopback only: a machine of the tests may have no network
export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo
ranks() { timeout 120 mpirun -n "$1" "${@:2}"; }
fail() { echo "$*"; exit 1; }
# A checkpoint appears within 30 s. Between two generations only the older one has a name.
await_checkpoint() {
  for _ in $(seq 600); do
    [[ ! -e $1.checkpoint && ! -e $1.checkpoint.previous ]] || return 0
    sleep 0.05
  done
  cat said
  fail "no checkpoint was written"
}
