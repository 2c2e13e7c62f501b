//! The flags of the Go manager, one row each, against ours.

use std::collections::BTreeMap;

use capm3_admission::https::TlsOptions;
use clap::{Args, Command, Parser};

use super::*;

/// What stands where the Go manager has its default.
#[derive(Debug, Clone, Copy)]
enum Ours {
    /// The same.
    Same,
    /// Another one, and why.
    Other(&'static str, &'static str),
    /// That of another flag, which has the same.
    Of(&'static str),
    /// None, because the flag has no effect, or not yet; once it has one, it must have the same.
    NoEffect,
}

use Ours::{NoEffect, Of, Other, Same};

const SERVER_LIMITS: &str = "the server limits its clients itself";

/// Flag, default of the Go manager, ours, and a value in Go's syntax.
#[rustfmt::skip]
const FLAGS: &[(&str, &str, Ours, &str)] = &[
    ("leader-elect", "false", Same, "true"),
    ("leader-elect-lease-duration", "15s", Same, "1m0s"),
    ("leader-elect-renew-deadline", "10s", Same, "40s"),
    ("leader-elect-retry-period", "2s", Same, "5s"),
    ("namespace", "", Same, "metal3"),
    ("watch-filter", "", Same, "a"),
    ("sync-period", "10m", NoEffect, "10m0s"),
    ("clustercache-client-qps", "20", Other("0", SERVER_LIMITS), "20"),
    ("clustercache-client-burst", "30", Same, "30"),
    ("webhook-port", "9443", Same, "9443"),
    ("webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs/", Same, "/certs"),
    ("health-addr", ":9440", Same, "127.0.0.1:9440"),
    ("metal3machine-concurrency", "10", Of("workers"), "1"),
    ("metal3cluster-concurrency", "10", Of("workers"), "2"),
    ("metal3datatemplate-concurrency", "10", Of("workers"), "3"),
    ("metal3data-concurrency", "10", Of("workers"), "4"),
    ("metal3labelsync-concurrency", "10", Of("workers"), "5"),
    ("metal3machinetemplate-concurrency", "10", Of("workers"), "6"),
    ("metal3remediation-concurrency", "10", Of("workers"), "7"),
    ("kube-api-qps", "20", Other("0", SERVER_LIMITS), "20.5"),
    ("kube-api-burst", "30", Same, "30"),
    ("enable-bmh-name-based-preallocation", "false", Same, "true"),
    ("tls-min-version", "VersionTLS12", Same, "VersionTLS13"),
    ("tls-cipher-suites", "", Same, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
    ("diagnostics-address", ":8443", Same, ":8443"),
    ("insecure-diagnostics", "false", Same, "true"),
    ("skip-crd-migration-phases", "", Same, "StorageVersionMigration"),
    ("kubeconfig", "", Same, "/a/file"),
    ("logging-format", "text", Same, "json"),
    ("v", "0", Same, "4"),
    ("vmodule", "", Same, "a=1"),
    ("log-flush-frequency", "5s", NoEffect, "5s"),
    ("log-text-split-stream", "false", NoEffect, "true"),
    ("log-text-info-buffer-size", "0", NoEffect, "0"),
    ("log-json-split-stream", "false", NoEffect, "true"),
    ("log-json-info-buffer-size", "0", NoEffect, "0"),
];

#[derive(Debug, Parser)]
struct Whole {
    #[command(flatten)]
    manager: ManagerArgs,
}

fn parse(arguments: &[String]) -> ManagerArgs {
    let command = Whole::try_parse_from(["manager".to_owned()].iter().chain(arguments));
    command.unwrap_or_else(|error| panic!("{arguments:?}: {error}")).manager
}

/// Default of each flag, empty if it has none.
fn defaults() -> BTreeMap<String, String> {
    let command = ManagerArgs::augment_args(Command::new("manager"));
    let default = |arg: &clap::Arg| {
        let values = arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned());
        Some((arg.get_long()?.to_owned(), values.collect::<Vec<_>>().join(",")))
    };
    command.get_arguments().filter_map(default).collect()
}

/// Every flag of the Go manager is taken in Go's syntax and has its default; where it has another, the table says why. A flag
/// that has no effect here says so once in the log.
#[test]
fn op141_every_flag_of_the_go_manager_is_taken_and_has_its_default() {
    let ours = defaults();
    for (flag, theirs, own, value) in FLAGS {
        let default = ours.get(*flag).unwrap_or_else(|| panic!("no --{flag}"));
        match own {
            Same => assert_eq!(default, theirs, "--{flag}"),
            Other(own, why) => assert!(default == own && !why.is_empty(), "--{flag}: {default:?}"),
            Of(other) => assert_eq!((default.as_str(), ours[*other].as_str()), ("", *theirs), "--{flag}"),
            NoEffect => assert!(default.is_empty() || default == theirs, "--{flag}: {default:?}"),
        }
        let given = format!("--{flag}={value}");
        let printed: Vec<&str> = parse(&[given]).without_effect().iter().map(|it| it.flag).collect();
        let is_printed = printed.iter().any(|it| it.trim_start_matches('-') == *flag);
        assert!(printed.len() <= 1 && (printed.is_empty() || is_printed), "--{flag}: {printed:?}");
        assert!(!is_printed || matches!(own, NoEffect) || *flag == "vmodule", "--{flag} has no effect");
    }
    assert_eq!(FLAGS.len(), 36);
}

/// What the values of the table come to, given all at once as in the arguments of a Deployment.
#[test]
fn op141_the_flags_of_the_go_manager_do_what_they_say() {
    let all: Vec<String> = FLAGS.iter().map(|(flag, _, _, value)| format!("--{flag}={value}")).collect();
    let args = parse(&all);
    let options = options(&args, WriteGate::always_open());
    let filter = capm3_provider::WatchFilter::new("a");
    assert_eq!((options.namespace.as_str(), options.watch_filter), ("metal3", filter));
    let workers = [
        ("metal3machine", 1),
        ("metal3cluster", 2),
        ("metal3datatemplate", 3),
        ("metal3data", 4),
        ("metal3labelsync", 5),
        ("metal3machinetemplate", 6),
        ("metal3machinetemplate-capacity", 6),
        ("metal3remediation", 7),
    ];
    for (controller, number) in workers {
        assert_eq!(options.workers_of[controller], number, "{controller}");
    }
    assert_eq!(options.workers_of.len(), workers.len());
    assert!(options.name_claims_by_host && !options.serve_addresses);
    let phases = options.crd_migration.unwrap();
    assert!(!phases.storage_version && phases.managed_fields);
    assert!(args.client.management().is_some());
    assert_eq!(args.client.workload(), (20.0, 30));
    assert_eq!((args.log_level(), args.logging_format()), ("info,capm3=debug", LogFormat::Json));
    assert_eq!(args.webhooks.port(), Some(9443));
    assert_eq!(args.webhooks.cert_dir(), std::path::Path::new("/certs"));
    assert_eq!(args.health_addr.to_string(), "127.0.0.1:9440");
    let tls = TlsOptions::by_names("VersionTLS13", &["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256".to_owned()]);
    let tls = tls.unwrap();
    assert_eq!(args.webhooks.tls().unwrap(), tls);
    assert_ne!(tls, TlsOptions::default());
    let none =
        parse(&["--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields".to_owned()]);
    assert_eq!(none.migration.crd_migration(), None, "both phases are skipped");
}
