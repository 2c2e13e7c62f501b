# Makes two ConfigMaps, `$1-owner` and `$1-child`; the second is owned by the first and would hold its end up.
set -e
kubectl create configmap "$1-owner" -n script
uid=$(kubectl get configmap "$1-owner" -n script -o 'jsonpath={.metadata.uid}')
kubectl create -f - <<END
apiVersion: v1
kind: ConfigMap
metadata:
  name: $1-child
  namespace: script
  ownerReferences:
  - {apiVersion: v1, kind: ConfigMap, name: $1-owner, uid: $uid, blockOwnerDeletion: true}
END
