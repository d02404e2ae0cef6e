#!/usr/bin/env bash
# mpirun over two hosts that are network namespaces of this machine: their ranks reach each other by TCP alone. Needs
# root and iproute2.
#   two_hosts.sh <program>
set -euo pipefail
program=$(realpath "${1:?the program}")
[[ $(id -u) == 0 ]] && command -v ip mpirun > /dev/null || { echo "needs root, iproute2 and mpirun: skipped"; exit 77; }
folder=$(mktemp -d)
names=("tessera$$a" "tessera$$b")
clean() {
  for name in "${names[@]}"; do ip netns del "$name" 2> /dev/null || true; done
  rm -rf "$folder"
}
trap clean EXIT
ip netns add "${names[0]}" 2> "$folder/why" || { echo "no network namespaces ($(cat "$folder/why")): skipped"; exit 77; }
ip netns add "${names[1]}"
ip link add wire netns "${names[0]}" type veth peer name wire netns "${names[1]}"
for i in 0 1; do
  ip -n "${names[i]}" addr add 10.99.77.$((i + 1))/24 dev wire
  ip -n "${names[i]}" link set wire up
  ip -n "${names[i]}" link set lo up
done

cd "$folder"
# In place of ssh: the second word is the host, the rest the command for its shell.
cat > agent << EOF
#!/bin/bash
host=\$1; shift
exec ip netns exec ${names[1]} bash -c "cd $folder && \$*"
EOF
chmod +x agent
"$program" example people.csv --rows 300 --quiet
fit=(fit people.csv --method tvae --epochs 3 --batch-size 96 --calibrate off --threads 1 --virtual-shards 4 --quiet)
"$program" "${fit[@]}" --model alone
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ip netns exec "${names[0]}" mpirun --mca plm_rsh_agent "$folder/agent" --mca btl self,tcp --mca btl_tcp_if_include wire \
  --mca oob_tcp_if_include wire --host 10.99.77.1:2,10.99.77.2:2 --map-by node -n 4 \
  "$program" "${fit[@]}" --model together
cmp alone together
echo "two hosts: the model of one"
