//! What is reported when something is missing or wrong, and where.

use super::*;

#[test]
fn missing_objects_are_reported_at_the_line_that_names_them() {
    let a = machine("a", "");
    assert_eq!(
        problems_of(&run(&[&a])),
        [
            "a.yaml:5: Metal3Machine ns/a: spec.dataTemplate: machine a: Metal3DataTemplate ns/t is not in the files; add it"
        ]
    );
    assert_eq!(
        problems_of(&run(&[&a, TEMPLATE])),
        [
            "a.yaml:14: Metal3DataTemplate ns/t: spec.metaData.ipAddressesFromPool[0].name: machine a, key ip: \
          IPPool ns/pool is not in the files; add it"
        ]
    );
    let twice = problems_of(&run(&[&a, &a, TEMPLATE, POOL]));
    assert_eq!(
        twice,
        ["a.yaml:7: Metal3Machine ns/a: is defined twice, also at a.yaml:2; remove one of them"]
    );
}

const NETWORKS: &str = "
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3DataTemplate
metadata: {name: t, namespace: ns}
spec:
  networkData:
    networks:
      ipv4:
      - id: storage
        link: l
        ipAddress:
          start: 10.0.0.1
          end: 10.0.0.1
        prefix: 24
";

#[test]
fn what_a_network_lacks_is_reported_at_its_line_with_the_whole_path_and_its_id() {
    let (a, b) = (machine("a", ""), machine("b", ""));
    assert_eq!(
        problems_of(&run(&[&a, &b, NETWORKS])),
        [
            "a.yaml:21: Metal3DataTemplate ns/t: spec.networkData.networks.ipv4[0].ipAddress: machine b on host \
             spare-1, network storage: IP address out of bounds (index 1, step 1 gives 10.0.0.2, end is 10.0.0.1); \
             ask for fewer machines, or widen the range (if the template is applied already: in a new \
             Metal3DataTemplate with templateReference: that of the old template or, if it has none, the name of the old template)"
        ]
    );
    let backwards = NETWORKS.replace("end: 10.0.0.1", "end: 10.0.0.0");
    let problems = problems_of(&run(&[&a, &backwards]));
    assert!(
        problems[0]
            .contains("network storage: bad address range (start 10.0.0.1 is behind end 10.0.0.0); correct"),
        "{problems:?}"
    );
    let range = NETWORKS.split_once("        ipAddress:").unwrap().0;
    let pooled = format!("{range}        fromPoolRef: {{name: gone}}\n");
    assert_eq!(
        problems_of(&run(&[&a, &pooled])),
        [
            "a.yaml:16: Metal3DataTemplate ns/t: spec.networkData.networks.ipv4[0].fromPoolRef: machine a, network \
             storage: IPPool ns/gone is not in the files; add it"
        ]
    );
}

#[test]
fn an_object_that_cannot_be_read_is_reported_by_its_field_and_nothing_else_is_reported_or_rendered() {
    let template =
        format!("{TEMPLATE}    strings:\n    - {{key: a, value: b}}\n    - {{key: c, value: 5}}\n");
    let options = Options { machines: Some(1), ..Options::default() };
    let rendering = run_with(&options, &[&template, POOL]);
    assert_eq!(rendering.machines, []);
    let problems = problems_of(&rendering);
    assert_eq!(problems.len(), 1, "{problems:?}");
    let start = "a.yaml:12: Metal3DataTemplate ns/t: spec.metaData.strings[1].value: cannot be read: invalid type: \
                 integer `5`, expected a string";
    assert!(problems[0].starts_with(start), "{problems:?}");
}

/// Overlapping ranges of two templates are a warning at the line of the second one; the machines are still rendered.
#[test]
fn s145_templates_with_overlapping_ranges_are_warned_of() {
    let template = |name: &str, subnet: &str| {
        format!(
            "
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3DataTemplate
metadata: {{name: {name}, namespace: ns}}
spec: {{metaData: {{ipAddresses: [{{key: ip, subnet: {subnet}}}]}}}}
"
        )
    };
    let warned = |other: &str| {
        let parts = [template("t", "10.0.0.0/24"), template("u", other), machine("m", ""), host("h", "a")];
        let Reading { documents, problems } = parse("f", &parts.join("---"));
        assert_eq!(problems, []);
        let rendering = render(&documents, &Options::default());
        assert_eq!((rendering.problems.as_slice(), rendering.machines.len()), ([].as_slice(), 1));
        rendering.warnings
    };
    let printed = warned("10.0.0.64/26");
    assert_eq!((printed.len(), printed[0].line), (1, 10), "{printed:?}");
    assert!(
        printed[0].message.contains(
            "Metal3DataTemplate ns/u: spec: inline ranges of this template and of Metal3DataTemplate t"
        ),
        "{printed:?}"
    );
    assert_eq!(warned("10.0.1.0/24"), []);
}
