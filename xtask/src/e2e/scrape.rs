//! A scrape of the manager on a real server, as Prometheus does it: refused without a token and to an account without the right,
//! given to one that is bound to the shipped ClusterRole. What it tells is compared with the objects.

use std::{collections::BTreeMap, fs, net::Ipv4Addr};

use anyhow::{Context, Result, ensure};
use capm3_api::vocabulary::label;
use capm3_install::METRICS_READER;
use serde_json::{Value, json};

use super::{Stage, server::Real, stage::text};
use crate::{
    conformance::client::{Answer, Ask, Client},
    install::Kubectl,
};

/// Where the accounts of the scrapers are.
const NAMESPACE: &str = "default";
/// An account that may read metrics, and one that has no rights.
const SCRAPER: &str = "scraper";
const STRANGER: &str = "stranger";

/// What the condition of a machine says that finds no host, and its code.
const NO_HOST: (&str, &str) = ("no host is available", "CAPM3-W020");

/// Those who scrape.
pub struct Scrapers {
    nobody: Client,
    stranger: Client,
    scraper: Client,
}

impl Scrapers {
    /// Creates the accounts and asks for their tokens.
    pub async fn create(real: &Real) -> Result<Self> {
        let kubectl = Kubectl::new(real.cluster())?;
        let list = json!({"apiVersion": "v1", "kind": "List", "items": accounts()});
        kubectl.run(&["apply", "--server-side", "-f", "-"], &list.to_string())?;
        let token = |account: &str| {
            let token = kubectl.run(&["create", "token", account, "-n", NAMESPACE], "")?;
            anyhow::Ok(json!({"token": token.trim()}))
        };
        Ok(Self {
            nobody: client(real, "nobody", &json!({})).await?,
            stranger: client(real, STRANGER, &token(STRANGER)?).await?,
            scraper: client(real, SCRAPER, &token(SCRAPER)?).await?,
        })
    }

    /// Only the account that may read metrics is given them.
    pub async fn are_told_apart(&self) -> Result<()> {
        for (who, client, expected) in
            [("nobody", &self.nobody, 401), (STRANGER, &self.stranger, 403), (SCRAPER, &self.scraper, 200)]
        {
            let answer = scrape(client).await.with_context(|| format!("scraping as {who}"))?;
            ensure!(answer.code == expected, "{who} gets {}: {}", answer.code, answer.body);
        }
        Ok(())
    }

    /// Waits until the series are what the objects are; gives how many were compared.
    pub async fn see_the_objects(&self, stage: &Stage) -> Result<usize> {
        let mut compared = 0;
        let mut differences = Vec::new();
        let held = stage
            .until("a scrape tells what the objects are", async || {
                let expected = expected(&Listed::of(stage).await?);
                let answer = scrape(&self.scraper).await?;
                let found = series(answer.body.as_str().unwrap_or_default());
                differences = differing(&expected, &found);
                compared = expected.len();
                Ok(differences.is_empty())
            })
            .await;
        held.with_context(|| differences.join("\n"))?;
        Ok(compared)
    }
}

/// How many machines find no host, by their conditions.
pub async fn without_host(stage: &Stage) -> Result<usize> {
    Ok(stage.list("Metal3Machine").await?.iter().filter(|machine| finds_no_host(machine)).count())
}

fn accounts() -> [Value; 3] {
    let account = |name: &str| json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": NAMESPACE}});
    let group = "rbac.authorization.k8s.io";
    let binding = json!({"apiVersion": format!("{group}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": SCRAPER},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": METRICS_READER},
        "subjects": [{"kind": "ServiceAccount", "name": SCRAPER, "namespace": NAMESPACE}]});
    [account(SCRAPER), account(STRANGER), binding]
}

/// A client of the diagnostics server, whose certificate nobody knows.
async fn client(real: &Real, who: &str, user: &Value) -> Result<Client> {
    let server = format!("https://{}:{}", Ipv4Addr::LOCALHOST, real.diagnostics());
    let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "current-context": who,
        "clusters": [{"name": who, "cluster": {"server": server, "insecure-skip-tls-verify": true}}],
        "contexts": [{"name": who, "context": {"cluster": who, "user": who}}],
        "users": [{"name": who, "user": user}]});
    let file = real.cluster().folder().join(format!("{who}.kubeconfig"));
    fs::write(&file, kubeconfig.to_string()).with_context(|| format!("writing {}", file.display()))?;
    Client::new(&file).await
}

async fn scrape(client: &Client) -> Result<Answer> {
    let (content_type, accept) = ("", "text/plain");
    let ask = Ask { method: "GET", path: "/metrics", content_type, accept, body: String::new() };
    client.send(ask).await
}

/// Values of a scrape by name and labels, as they stand there.
fn series(scrape: &str) -> BTreeMap<String, f64> {
    let lines = scrape.lines().filter(|line| !line.starts_with('#'));
    let values = lines.filter_map(|line| {
        let (series, value) = line.rsplit_once(' ')?;
        Some((series.to_owned(), value.parse().ok()?))
    });
    values.collect()
}

/// The objects that the series are about.
#[derive(Default)]
struct Listed {
    hosts: Vec<Value>,
    machines: Vec<Value>,
    pools: Vec<Value>,
    addresses: Vec<Value>,
    data: Vec<Value>,
    clusters: Vec<Value>,
}

impl Listed {
    async fn of(stage: &Stage) -> Result<Self> {
        Ok(Self {
            hosts: stage.list("BareMetalHost").await?,
            machines: stage.list("Metal3Machine").await?,
            pools: stage.list("IPPool").await?,
            addresses: stage.list("IPAddress").await?,
            data: stage.list("Metal3Data").await?,
            clusters: stage.list("Cluster").await?,
        })
    }
}

/// What a scrape must report these objects.
fn expected(listed: &Listed) -> BTreeMap<String, f64> {
    let mut expected: BTreeMap<String, f64> = BTreeMap::new();
    let domain = format!("/metadata/labels/{}", label::FAILURE_DOMAIN.replace('/', "~1"));
    for host in &listed.hosts {
        let state = Some(text(host, "/status/provisioning/state")).filter(|state| !state.is_empty());
        let (state, domain) = (state.unwrap_or("none"), text(host, &domain));
        *expected
            .entry(format!("capm3_hosts{{state=\"{state}\",failure_domain=\"{domain}\"}}"))
            .or_default() += 1.0;
    }
    let without_host = listed.machines.iter().filter(|machine| finds_no_host(machine)).count();
    if without_host > 0 {
        let series = format!("capm3_machines_waiting{{code=\"{}\"}}", NO_HOST.1);
        expected.insert(series, without_host as f64);
    }
    let used = listed.addresses.len() as f64;
    let sizes: f64 = listed.pools.iter().map(size).sum();
    let addresses = |state: &str| format!("capm3_ip_pool_addresses{{family=\"ipv4\",state=\"{state}\"}}");
    expected.insert(addresses("used"), used);
    expected.insert(addresses("free"), sizes - used);
    let index = |data: &Value| data.pointer("/spec/index").and_then(Value::as_f64);
    expected.insert("capm3_indexes_used".to_owned(), listed.data.len() as f64);
    if let Some(highest) = listed.data.iter().filter_map(index).reduce(f64::max) {
        expected.insert("capm3_index_highest".to_owned(), highest);
    }
    for (state, count) in [("connecting", 0), ("synced", listed.clusters.len()), ("unreachable", 0)] {
        expected.insert(format!("capm3_workload_clusters{{state=\"{state}\"}}"), count as f64);
    }
    expected
}

fn finds_no_host(machine: &Value) -> bool {
    machine.pointer("/status/conditions").is_some_and(|all| all.to_string().contains(NO_HOST.0))
}

/// How many addresses the ranges of a pool have; no gateway is in one of them.
fn size(pool: &Value) -> f64 {
    let ranges = pool.pointer("/spec/pools").and_then(Value::as_array);
    let number = |range: &Value, end: &str| text(range, end).parse::<Ipv4Addr>().map(u32::from);
    let sizes = ranges.into_iter().flatten().filter_map(|range| {
        let (start, end) = (number(range, "/start").ok()?, number(range, "/end").ok()?);
        Some(f64::from(end.checked_sub(start)?) + 1.0)
    });
    sizes.sum()
}

/// Families that are compared completely: what a scrape has beyond the objects is a difference too.
const WHOLE: [&str; 2] = ["capm3_hosts{", "capm3_machines_waiting{"];

fn differing(expected: &BTreeMap<String, f64>, found: &BTreeMap<String, f64>) -> Vec<String> {
    let is_whole = |series: &&String| WHOLE.iter().any(|family| series.starts_with(family));
    let names = expected.keys().chain(found.keys().filter(is_whole));
    let names: std::collections::BTreeSet<&String> = names.collect();
    let pairs = names.into_iter().map(|name| (name, expected.get(name), found.get(name)));
    let unlike = pairs.filter(|(_, expected, found)| {
        // A series may be left out while nothing is counted by it.
        expected.copied().unwrap_or_default() != found.copied().unwrap_or_default()
    });
    unlike.map(|(name, expected, found)| format!("{name}: {found:?}, by the objects {expected:?}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed() -> Listed {
        let host = |state: &str| {
            json!({"metadata": {"labels": {label::FAILURE_DOMAIN: "rack1"}},
                "status": {"provisioning": {"state": state}}})
        };
        let waiting = json!({"status": {"conditions": [{"message": "no host is available: 3 are in use"}]}});
        Listed {
            hosts: vec![host("available"), host("available"), host("provisioned"), json!({})],
            machines: vec![waiting, json!({"status": {"conditions": [{"message": ""}]}})],
            pools: vec![json!({"spec": {"pools": [{"start": "10.0.0.10", "end": "10.0.0.19"}]}})],
            addresses: vec![json!({}), json!({})],
            data: vec![json!({"spec": {"index": 4}}), json!({"spec": {"index": 0}})],
            clusters: vec![json!({})],
        }
    }

    const SCRAPE: &str = r#"# HELP capm3_hosts of hosts
capm3_hosts{state="available",failure_domain="rack1"} 2
capm3_hosts{state="none",failure_domain=""} 1
capm3_hosts{state="provisioned",failure_domain="rack1"} 1
capm3_machines_waiting{code="CAPM3-W020"} 1
capm3_ip_pool_addresses{family="ipv4",state="free"} 8
capm3_ip_pool_addresses{family="ipv4",state="used"} 2
capm3_indexes_used 2
capm3_index_highest 4
capm3_workload_clusters{state="connecting"} 0
capm3_workload_clusters{state="synced"} 1
capm3_workload_clusters{state="unreachable"} 0
process_open_fds 12
"#;

    #[test]
    fn a_scrape_that_shows_what_the_objects_are_has_no_differences() {
        assert_eq!(differing(&expected(&listed()), &series(SCRAPE)), Vec::<String>::new());
    }

    #[test]
    fn what_differs_and_what_no_object_is_about_is_named() {
        let text = SCRAPE.replace("failure_domain=\"\"} 1", "failure_domain=\"rack9\"} 1");
        let text = text.replace("capm3_index_highest 4", "capm3_index_highest 5");
        let text = format!("{text}capm3_machines_waiting{{code=\"CAPM3-W001\"}} 3\n");
        let found = differing(&expected(&listed()), &series(&text));
        assert_eq!(
            found,
            [
                "capm3_hosts{state=\"none\",failure_domain=\"\"}: None, by the objects Some(1.0)",
                "capm3_hosts{state=\"none\",failure_domain=\"rack9\"}: Some(1.0), by the objects None",
                "capm3_index_highest: Some(5.0), by the objects Some(4.0)",
                "capm3_machines_waiting{code=\"CAPM3-W001\"}: Some(3.0), by the objects None",
            ]
        );
    }
}
