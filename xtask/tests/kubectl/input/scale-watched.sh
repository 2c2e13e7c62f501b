# Scales up while a watch looks on, and prints the rows that the watch showed; a row that is shown twice in a row is one.
rows="$HOME/rows"
deployment="machinedeployment my-cluster-workers -n metal3"
columns=custom-columns=EVENT:.type,WANTED:.object.spec.replicas,READY:.object.status.readyReplicas
shows() {
    for _ in $(seq 100); do
        grep -q "$1" "$rows" && return 0
        sleep 0.2
    done
    echo "the watch does not show $1:"
    cat "$rows"
    exit 1
}
: > "$rows"
kubectl get $deployment -w --output-watch-events -o "$columns" > "$rows" &
watch=$!
trap 'kill "$watch"' EXIT
shows 'ADDED  *3  *3'
kubectl scale $deployment --replicas=4
kubectl wait $deployment --for=jsonpath='{.status.readyReplicas}'=4 --timeout=60s
shows 'MODIFIED  *4  *4'
uniq "$rows"
