//! What to try next, with the names that are really there.

use std::sync::Arc;

use serde_json::Value;

/// Lines that say where the kubeconfig is and three commands to try.
pub fn invitation(objects: &[Arc<Value>], export: &str, is_stuck: bool) -> String {
    let namespace = find(objects, "Cluster").map_or("default", |object| text(object, "/metadata/namespace"));
    let third = if is_stuck {
        why(objects, namespace)
    } else {
        format!("kubectl get baremetalhosts -n {namespace} -w")
    };
    format!(
        "\nTry, in another terminal:\n  {export}\n  kubectl get cluster,machine,metal3machine -n {namespace}\n  \
         {}\n  {third}\nCtrl-C ends everything.",
        change(objects, namespace),
    )
}

/// A command that makes something happen, or shows most if there is nothing to scale.
fn change(objects: &[Arc<Value>], namespace: &str) -> String {
    let mut deployments = objects.iter().filter(|object| text(object, "/kind") == "MachineDeployment");
    let Some(deployment) = deployments.find(|object| text(object, "/metadata/namespace") == namespace) else {
        return format!("kubectl describe metal3machine -n {namespace}");
    };
    let replicas = deployment.pointer("/spec/replicas").and_then(Value::as_u64).unwrap_or(1);
    let name = text(deployment, "/metadata/name");
    format!("kubectl scale machinedeployment {name} -n {namespace} --replicas={}", replicas + 1)
}

/// A command that tells why a machine is not ready, or at least what happened.
fn why(objects: &[Arc<Value>], namespace: &str) -> String {
    let is_ready = |object: &Value| {
        let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
        let is_it =
            |condition: &Value| text(condition, "/type") == "Ready" && text(condition, "/status") == "True";
        conditions.is_some_and(|conditions| conditions.iter().any(is_it))
    };
    let mut machines = objects.iter().filter(|object| text(object, "/kind") == "Metal3Machine");
    match machines.find(|object| !is_ready(object)) {
        Some(machine) => {
            let (name, namespace) = (text(machine, "/metadata/name"), text(machine, "/metadata/namespace"));
            format!("capm3 explain machine/{name} -n {namespace}")
        }
        None => format!("kubectl get events -n {namespace}"),
    }
}

fn find<'a>(objects: &'a [Arc<Value>], kind: &str) -> Option<&'a Arc<Value>> {
    objects.iter().find(|object| text(object, "/kind") == kind)
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_commands_name_what_is_there() {
        let objects = [
            Arc::new(json!({"kind": "Cluster", "metadata": {"name": "c", "namespace": "site"}})),
            Arc::new(
                json!({"kind": "MachineDeployment", "metadata": {"name": "md", "namespace": "site"}, "spec": {"replicas": 3}}),
            ),
        ];
        let text = invitation(&objects, "export KUBECONFIG=/k", false);
        for part in [
            "export KUBECONFIG=/k\n",
            "kubectl get cluster,machine,metal3machine -n site\n",
            "kubectl scale machinedeployment md -n site --replicas=4\n",
            "kubectl get baremetalhosts -n site -w\n",
        ] {
            assert!(text.contains(part), "{part} is not in:\n{text}");
        }
        let alone = invitation(&objects[..1], "export KUBECONFIG=/k", true);
        assert!(
            alone.contains("kubectl describe metal3machine -n site\n  kubectl get events -n site\n"),
            "{alone}"
        );
        let machine = |name: &str, ready: &str| {
            Arc::new(json!({"kind": "Metal3Machine", "metadata": {"name": name, "namespace": "site"},
                "status": {"conditions": [{"type": "Ready", "status": ready}]}}))
        };
        let stuck = [objects[0].clone(), machine("well", "True"), machine("stuck", "False")];
        let stuck = invitation(&stuck, "export KUBECONFIG=/k", true);
        assert!(stuck.contains("\n  capm3 explain machine/stuck -n site\n"), "{stuck}");
        let mut elsewhere = objects;
        for (object, namespace) in elsewhere.iter_mut().zip(["a", "b"]) {
            Arc::make_mut(object)["metadata"]["namespace"] = json!(namespace);
        }
        let text = invitation(&elsewhere, "export KUBECONFIG=/k", false);
        assert!(text.contains("kubectl describe metal3machine -n a\n"), "{text}");
    }
}
