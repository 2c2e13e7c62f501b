//! Data templates per failure domain.

use std::{collections::BTreeSet, sync::Arc};

use capm3_lab::{Lab, manifests::Manifest, report::report};
use serde_json::{Value, json};

use crate::{
    common::{hosts::*, *},
    wire,
};

/// The three data templates are accepted with their clusterName, of which a warning says that it is deprecated, and
/// stored as they were sent.
#[tokio::test(start_paused = true)]
async fn s197_three_data_templates_are_accepted_with_their_cluster_name() {
    let (templates, others): (Vec<_>, Vec<_>) =
        racks_without_machines().into_iter().partition(|m| m.kind() == "Metal3DataTemplate");
    let lab = settled(&others).await;
    assert_eq!(templates.len(), 3);
    for template in &templates {
        let answer = wire::create(&lab, &template.object).await;
        assert_eq!(answer.code, 201, "{}", answer.message());
        assert!(answer.warns_of("spec.clusterName is deprecated"), "{:?}", answer.warnings);
    }
    rest(&lab).await;
    for template in templates {
        let stored = get(&lab, "Metal3DataTemplate", &template.key().name);
        assert_eq!(text(&stored, "/spec/clusterName"), "my-cluster");
        let (sent, kept) = (&template.object["spec"], &stored["spec"]);
        assert!(is_part_of(sent, kept), "{sent} became {kept}");
    }
}

/// Whether everything of one document stands in the other, which may have defaults besides.
fn is_part_of(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            part.iter().all(|(key, value)| whole.get(key).is_some_and(|other| is_part_of(value, other)))
        }
        (Value::Array(part), Value::Array(whole)) => {
            part.len() == whole.len() && part.iter().zip(whole).all(|(a, b)| is_part_of(a, b))
        }
        _ => part == whole,
    }
}

/// The template of the control plane is accepted with its list of domains, and the list is stored as given.
#[tokio::test(start_paused = true)]
async fn s199_a_template_keeps_its_list_of_domains() {
    let lab = settled(&racks_without_machines()).await;
    let template = get(&lab, "Metal3MachineTemplate", "my-cluster-cp");
    let list = template.pointer("/spec/failureDomainDataTemplates").and_then(Value::as_array).unwrap();
    let pairs: Vec<_> =
        list.iter().map(|e| (text(e, "/failureDomain"), text(e, "/dataTemplate/name"))).collect();
    assert_eq!(pairs, (1..=3).map(|n| (format!("rack{n}"), format!("m3dt-rack{n}"))).collect::<Vec<_>>());
}

/// The control plane has three machines over three racks.
#[tokio::test(start_paused = true)]
async fn s200_three_machines_stand_in_three_racks() {
    let lab = settled(&control_plane(3)).await;
    let racks: BTreeSet<String> =
        machines(&lab, "my-cluster-cp").iter().map(|m| text(&host(&lab, m), DOMAIN)).collect();
    assert_eq!(racks.len(), 3);
}

/// The resulting machines carry failure domain, data template and network data as printed.
#[tokio::test(start_paused = true)]
async fn s201_the_machines_are_as_printed() {
    let lab = settled(&control_plane(3)).await;
    let machines = machines(&lab, "my-cluster-cp");
    assert_eq!(machines.len(), 3);
    for machine in machines {
        let rack = text(&machine, "/spec/failureDomain");
        assert_eq!(
            machine.pointer("/spec/dataTemplate"),
            Some(&json!({"name": format!("m3dt-{rack}"), "namespace": "metal3"}))
        );
        assert_eq!(text(&machine, "/status/networkData/name"), format!("{}-networkdata", name(&machine)));
    }
}

/// Kubelets that ask for an external cloud provider work with `cloudProviderEnabled: true`.
#[tokio::test(start_paused = true)]
async fn s202_an_external_cloud_provider_gives_the_ids() {
    let lab = settled(&control_plane(3)).await;
    let nodes = lab.server().objects(Some("metal3/my-cluster"));
    let ids: BTreeSet<String> =
        nodes.iter().map(|n| text(n, "/spec/providerID")).filter(|id| !id.is_empty()).collect();
    let of_machines: BTreeSet<String> =
        lab.objects("Metal3Machine").iter().map(|m| text(m, "/spec/providerID")).collect();
    assert_eq!(ids, of_machines);
    assert_eq!(ids.len(), 3);
}

/// Once a claim exists, changes of map or domain change nothing for that machine.
#[tokio::test(start_paused = true)]
async fn s210_a_claim_freezes_the_choice() {
    let lab = settled(&control_plane(3)).await;
    let domains = |lab: &Lab| {
        let machines = machines(lab, "my-cluster-cp").into_iter();
        machines.map(|m| (name(&m), text(&m, "/spec/failureDomain"))).collect::<Vec<_>>()
    };
    let (before, domains_before) = (report(&lab, 0), domains(&lab));
    let other = json!({"spec": {"failureDomainDataTemplates": [
        {"failureDomain": "rack1", "dataTemplate": {"name": "m3dt-rack3", "namespace": "metal3"}}]}});
    patch(&lab, "infrastructure.cluster.x-k8s.io/v1beta2", "Metal3MachineTemplate", "my-cluster-cp", other)
        .await;
    for host in lab.objects("BareMetalHost") {
        patch_host(
            &lab,
            &name(&host),
            json!({"metadata": {"labels": {"infrastructure.cluster.x-k8s.io/failure-domain": "rack1"}}}),
        )
        .await;
    }
    let secrets = |lab: &Lab| {
        let rendered = |s: &Arc<Value>| name(s).ends_with("-networkdata");
        let secrets = lab.objects("Secret").into_iter().filter(rendered);
        secrets.map(|s| (name(&s), s["data"].clone())).collect::<Vec<_>>()
    };
    let secrets_before = secrets(&lab);
    assert_eq!(secrets_before.len(), 3);
    // The domain of the Machines changes as well; Cluster API takes it back from what is provisioned.
    for machine in machines(&lab, "my-cluster-cp") {
        let other = json!({"spec": {"failureDomain": "rack1"}});
        patch(&lab, "cluster.x-k8s.io/v1beta2", "Machine", &name(&machine), other).await;
    }
    rest(&lab).await;
    assert_eq!(domains(&lab), domains_before);
    let after = report(&lab, 0);
    assert_eq!((before.machines.len(), after.machines.len()), (3, 3));
    for (old, new) in before.machines.iter().zip(&after.machines) {
        assert_eq!(
            (&old.name, &old.host, &old.data_template, &old.data, &old.addresses, &old.index),
            (&new.name, &new.host, &new.data_template, &new.data, &new.addresses, &new.index)
        );
    }
    assert_eq!(secrets(&lab), secrets_before);
    assert_eq!(lab.objects("Metal3DataClaim").len(), 3);
}

/// The same for a machine on its way, which follows the Machine's domain still: its claim is made, its data is not.
#[tokio::test(start_paused = true)]
async fn s210_a_claim_freezes_the_choice_of_a_machine_on_its_way() {
    let mut manifests = control_plane(1);
    let pools: Vec<_> = manifests.iter().filter(|m| m.kind() == "IPPool").cloned().collect();
    manifests.retain(|m| m.kind() != "IPPool");
    let lab = settled(&manifests).await;
    let machine = machines(&lab, "my-cluster-cp")[0].clone();
    let claimed = |lab: &Lab| text(&get(lab, "Metal3DataClaim", &name(&machine)), "/spec/template/name");
    assert_eq!((claimed(&lab).as_str(), condition(&machine, "Ready").0.as_str()), ("m3dt-rack1", "False"));
    let domain = json!({"metadata": {"labels": {"infrastructure.cluster.x-k8s.io/failure-domain": "rack3"}}});
    patch_host(&lab, &host_of(&machine), domain).await;
    let domain = json!({"spec": {"failureDomain": "rack3"}});
    patch(&lab, "cluster.x-k8s.io/v1beta2", "Machine", &name(&machine), domain).await;
    rest(&lab).await;
    lab.apply(&pools).await.unwrap();
    rest(&lab).await;
    let after = get(&lab, "Metal3Machine", &name(&machine));
    assert_eq!(text(&after, "/spec/failureDomain"), "rack3");
    assert_eq!(text(&after, "/spec/dataTemplate/name"), "m3dt-rack1");
    assert_eq!(claimed(&lab), "m3dt-rack1");
    assert_eq!(condition(&after, "Ready").0, "True");
    assert_eq!(report(&lab, 0).machines[0].addresses, ["10.0.1.10"]);
}

/// An update in place puts the template's default back into the spec of a running machine. The claim is the truth: it
/// is written again, and data and Secrets go on as before.
#[tokio::test(start_paused = true)]
async fn a_running_machine_keeps_the_data_template_that_it_claimed() {
    let lab = settled(&three_racks()).await;
    let default = text(
        &get(&lab, "Metal3MachineTemplate", "my-cluster-workers"),
        "/spec/template/spec/dataTemplate/name",
    );
    let claimed = |m: &Value| text(m, "/spec/dataTemplate/name");
    let machine = machines(&lab, "my-cluster-workers").into_iter().find(|m| claimed(m) != default).unwrap();
    let (own, template) = (name(&machine), claimed(&machine));
    let over = json!({"spec": {"dataTemplate": {"name": default, "namespace": "metal3"}}});
    patch_machine(&lab, &own, over).await;
    rest(&lab).await;
    let now = get(&lab, "Metal3Machine", &own);
    assert_eq!(claimed(&now), template);
    assert_eq!(condition(&now, "Ready").0, "True");
    let reported = events(&lab, "DataTemplateChanged");
    assert!(
        reported.iter().any(|e| e.starts_with(&own) && e.contains("which the claim of this machine names"))
    );
    let data = get(&lab, "Metal3Data", &text(&now, "/status/renderedData/name"));
    assert_eq!(condition(&data, "Ready").0, "True");
    let secret_name = format!("{own}-networkdata");
    let before = secret(&lab, &secret_name, "networkData").unwrap();
    delete(&lab, "v1", "Secret", &secret_name).await;
    rest(&lab).await;
    assert_eq!(secret(&lab, &secret_name, "networkData").unwrap(), before, "it comes back as it was");
}

/// A machine on a host of another rack than assigned, or without an assigned domain, gets the template of the host's
/// rack, and an event says so.
#[tokio::test(start_paused = true)]
async fn s211_the_rack_of_the_host_decides_and_is_reported() {
    let mut manifests = control_plane(3);
    manifests.retain(|m| m.key().name != "rack3-host-1");
    let role = json!({"metadata": {"labels": {"cluster-role": "control-plane"}}});
    change(&mut manifests, "BareMetalHost", "rack1-host-2", &role);
    let lab = settled(&manifests).await;
    let fallen = machines(&lab, "my-cluster-cp").into_iter().find(|m| host_of(m) == "rack1-host-2").unwrap();
    assert_eq!(text(&fallen, "/spec/failureDomain"), "rack3");
    assert_eq!(text(&fallen, "/spec/dataTemplate/name"), "m3dt-rack1");
    let reported = events(&lab, "DataTemplateChanged");
    assert!(
        reported.iter().any(|e| e.starts_with(&name(&fallen)) && e.contains("\"m3dt-rack1\"")),
        "{reported:?}"
    );
}

/// The other half: workers are assigned to no domain, and land on hosts that have one.
#[tokio::test(start_paused = true)]
async fn s211_without_an_assigned_domain_the_rack_of_the_host_decides_too() {
    let lab = settled(&three_racks()).await;
    let default = text(
        &get(&lab, "Metal3MachineTemplate", "my-cluster-workers"),
        "/spec/template/spec/dataTemplate/name",
    );
    let reported = events(&lab, "DataTemplateChanged");
    let mut differing = 0;
    for machine in machines(&lab, "my-cluster-workers") {
        assert_eq!(machine.pointer("/spec/failureDomain"), None);
        let expected = format!("m3dt-{}", text(&host(&lab, &machine), DOMAIN));
        assert_eq!(text(&machine, "/spec/dataTemplate/name"), expected);
        if expected != default {
            differing += 1;
            let printed = reported
                .iter()
                .any(|e| e.starts_with(&name(&machine)) && e.contains(&format!("\"{expected}\"")));
            assert!(printed, "{reported:?}");
        }
    }
    assert!(differing > 0, "every worker has the default: nothing is shown");
}

/// A mapped template that is missing is waited for with a reason; no other template is taken instead.
#[tokio::test(start_paused = true)]
async fn s213_a_missing_template_is_waited_for() {
    let mut manifests = control_plane(1);
    let template = manifests
        .iter()
        .position(|m| m.key().name == "m3dt-rack1" && m.kind() == "Metal3DataTemplate")
        .unwrap();
    let template = manifests.remove(template);
    // The default is there: whoever falls back to it gets a node.
    machine_spec(&mut manifests, "my-cluster-cp", json!({"dataTemplate": {"name": "m3dt-rack3"}}));
    let lab = settled(&manifests).await;
    let machine = machines(&lab, "my-cluster-cp")[0].clone();
    assert_eq!(text(&host(&lab, &machine), DOMAIN), "rack1");
    assert_eq!(condition(&machine, "Metal3DataReady"), ("False".into(), "WaitingForMetal3Data".into()));
    let printed = machine.pointer("/status/conditions").unwrap().to_string();
    assert!(printed.contains("which does not exist in namespace metal3"), "{printed}");
    let claimed = |lab: &Lab| {
        let claims = lab.objects("Metal3DataClaim");
        claims.iter().map(|claim| text(claim, "/spec/template/name")).collect::<Vec<_>>()
    };
    assert!(claimed(&lab).iter().all(|template| template == "m3dt-rack1"), "{:?}", claimed(&lab));
    assert_eq!(text(&machine, "/spec/dataTemplate/name"), "m3dt-rack1");
    assert_eq!(lab.objects("Metal3Data").len(), 0);
    assert_eq!(host(&lab, &machine).pointer("/spec/image"), None, "nothing is put on the host");
    lab.apply(&[template]).await.unwrap();
    rest(&lab).await;
    assert_eq!(claimed(&lab), ["m3dt-rack1"]);
    assert_eq!(condition(&get(&lab, "Metal3Machine", &name(&machine)), "Ready").0, "True");
}

/// A control plane of three whose template has this map.
async fn mapped(map: Value) -> Lab {
    let mut manifests = control_plane(3);
    let map = json!({"spec": {"failureDomainDataTemplates": map}});
    change(&mut manifests, "Metal3MachineTemplate", "my-cluster-cp", &map);
    settled(&manifests).await
}

/// Everything that was made or changed for the machines, byte for byte.
fn outcome(lab: &Lab) -> Vec<String> {
    let data =
        ["Metal3DataTemplate", "Metal3DataClaim", "Metal3Data", "Secret", "IPPool", "IPClaim", "IPAddress"];
    let kinds = data.into_iter().chain(["Metal3Machine", "Machine", "BareMetalHost", "Event"]);
    kinds.flat_map(|kind| lab.objects(kind)).map(|object| object.to_string()).collect()
}

/// Without the field nothing differs from before: every machine has the template's one data template, its spec is what
/// the template says and no more, and all objects are those of a run in which the map leads to the default anyway, to the
/// byte, versions and times included.
#[tokio::test(start_paused = true)]
async fn s214_without_the_field_every_machine_has_the_one_template() {
    let lab = mapped(json!(null)).await;
    let template = get(&lab, "Metal3MachineTemplate", "my-cluster-cp")["spec"]["template"]["spec"].clone();
    assert_eq!(machines(&lab, "my-cluster-cp").len(), 3);
    for machine in machines(&lab, "my-cluster-cp") {
        let mut expected = template.clone();
        let id = format!("metal3://metal3/{}/{}", host_of(&machine), name(&machine));
        let own = json!({"providerID": id, "failureDomain": text(&machine, "/spec/failureDomain"),
            "dataTemplate": {"name": "m3dt-rack1", "namespace": "metal3"}});
        json_patch::merge(&mut expected, &own);
        assert_eq!(machine["spec"], expected);
    }
    let indexes: BTreeSet<_> = report(&lab, 0).machines.into_iter().map(|m| m.index).collect();
    assert_eq!(indexes, BTreeSet::from([Some(0), Some(1), Some(2)]), "of one template");
    assert!(events(&lab, "DataTemplateChanged").is_empty());
    let to_default: Vec<Value> = ["rack1", "rack2", "rack3"]
        .iter()
        .map(|rack| json!({"failureDomain": rack, "dataTemplate": {"name": "m3dt-rack1"}}))
        .collect();
    let (without, with) = (outcome(&lab), outcome(&mapped(json!(to_default)).await));
    assert_eq!(without.len(), with.len());
    for (without, with) in without.iter().zip(&with) {
        assert_eq!(without, with);
    }
}

/// A MachineDeployment with a failure domain works like the control plane.
#[tokio::test(start_paused = true)]
async fn s215_a_deployment_with_a_failure_domain_works_too() {
    let mut manifests = three_racks();
    let rack2 = json!({"spec": {"template": {"spec": {"failureDomain": "rack2"}}}});
    change(&mut manifests, "MachineDeployment", "my-cluster-workers", &rack2);
    let lab = settled(&manifests).await;
    assert_eq!(machines(&lab, "my-cluster-workers").len(), 3);
    for machine in machines(&lab, "my-cluster-workers") {
        assert_eq!(condition(&machine, "Ready").0, "True");
        assert_eq!(text(&machine, "/spec/failureDomain"), "rack2");
        assert_eq!(text(&machine, "/spec/dataTemplate/name"), "m3dt-rack2");
        assert_eq!(text(&host(&lab, &machine), DOMAIN), "rack2");
    }
}

/// Claims, data, addresses and Secrets of a worker, without what differs between any two runs.
async fn pipeline(manifests: &[Manifest]) -> Vec<Value> {
    let lab = settled(manifests).await;
    let workers = machines(&lab, "my-cluster-workers");
    assert_eq!(workers.len(), 1);
    assert_eq!(condition(&workers[0], "Ready").0, "True", "{}", workers[0]);
    let kinds = ["Metal3DataClaim", "Metal3Data", "IPClaim", "IPAddress", "Secret"];
    let mut all: Vec<Value> =
        kinds.iter().flat_map(|kind| lab.objects(kind)).map(|object| object.as_ref().clone()).collect();
    for object in &mut all {
        for member in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
            object["metadata"].as_object_mut().unwrap().remove(member);
        }
        for owner in object["metadata"]["ownerReferences"].as_array_mut().into_iter().flatten() {
            owner.as_object_mut().unwrap().remove("uid");
        }
        for condition in
            object.pointer_mut("/status/conditions").and_then(Value::as_array_mut).into_iter().flatten()
        {
            condition.as_object_mut().unwrap().remove("lastTransitionTime");
        }
        // Cluster API's hash of the MachineDeployment's template, which has the domain.
        if let Some(labels) = object.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
            labels.remove("machine-template-hash");
        }
        // It covers the whole machine, so it may differ.
        if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
        {
            annotations.remove("capm3.metal3.io/inputs-digest");
        }
    }
    all.retain(|object| !object.to_string().contains("kubeconfig"));
    all
}

/// Claims, data, addresses and Secrets know nothing of failure domains: for a machine whose data template was chosen by its
/// failure domain they are the same as for one that names the template and has no domain.
#[tokio::test(start_paused = true)]
async fn s216_the_data_pipeline_knows_no_failure_domains() {
    let mut manifests = three_racks();
    manifests.retain(|m| m.kind() != "BareMetalHost" || m.key().name.starts_with("rack1-"));
    change(&mut manifests, "KubeadmControlPlane", "my-cluster-cp", &json!({"spec": {"replicas": 1}}));
    change(&mut manifests, "MachineDeployment", "my-cluster-workers", &json!({"spec": {"replicas": 1}}));
    let meta_data = json!({"spec": {"metaData": {"indexes": [{"key": "index"}],
        "objectNames": [{"key": "host", "object": "baremetalhost"}]}}});
    change(&mut manifests, "Metal3DataTemplate", "m3dt-rack1", &meta_data);
    let with = |domain: Value, template: Value, mapping: Value| {
        let mut manifests = manifests.clone();
        let domain = json!({"spec": {"template": {"spec": {"failureDomain": domain}}}});
        change(&mut manifests, "MachineDeployment", "my-cluster-workers", &domain);
        let spec = json!({"spec": {"template": {"spec": {"dataTemplate": template}}, "failureDomainDataTemplates": mapping}});
        change(&mut manifests, "Metal3MachineTemplate", "my-cluster-workers", &spec);
        manifests
    };
    let mapping = json!([{"failureDomain": "rack1", "dataTemplate": {"name": "m3dt-rack1"}}]);
    let chosen = pipeline(&with(json!("rack1"), json!(null), mapping)).await;
    let named = pipeline(&with(json!(null), json!({"name": "m3dt-rack1"}), json!(null))).await;
    assert!(chosen.iter().filter(|object| object["kind"] == "Metal3Data").count() >= 1);
    assert_eq!(chosen, named);
}

/// No file of the pipeline from claim to Secret mentions failure domains.
#[test]
fn no_file_of_the_data_pipeline_mentions_failure_domains() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let places = [
        "provider/src/metal3data",
        "provider/src/metal3datatemplate",
        "provider/src/ippool",
        "domain/src/render",
    ];
    let mut folders: Vec<_> = places.iter().map(|place| crates.join(place)).collect();
    let mut read = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap().to_lowercase();
            let mentions = text.contains("failure_domain") || text.contains("failuredomain");
            assert!(!mentions, "{}", path.display());
            read += 1;
        }
    }
    assert!(read > places.len(), "nothing was read");
}
