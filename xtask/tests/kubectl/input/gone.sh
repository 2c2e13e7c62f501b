# Ends when the ConfigMap is gone, which may be before it is asked for.
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  kubectl get configmap "$1" -n script >/dev/null 2>&1 || { echo "$1 is gone"; exit 0; }
  sleep 1
done
echo "$1 does not go"
exit 1
