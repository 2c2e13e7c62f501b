//! `cargo xtask real seeds`: every YAML block of the design documents, as printed and after `capm3 migrate`, given to a
//! real API server; then the rows of the acceptance list that no block shows whole.
//!
//! The expected answer to each block is in `tests/seeds/table.txt`, what to each row in `tests/seeds/rows`; a test asks the
//! embedded server the same. Blocks are only tried, documents of rows are stored, edited and read back. The real server has the
//! CRDs and webhook configurations of a release and asks our [`webhooks`]; the embedded one asks the rules in process.

mod play;
mod rows;
mod server;
mod table;
mod verdict;
mod webhooks;
mod writing;

#[cfg(test)]
mod in_a_lab;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use capm3_offline::migrate::{self, Options};

use self::{
    play::Played,
    server::Server,
    table::{Expected, Row},
    verdict::Verdict,
};
use crate::{
    conformance::{self, client::Client},
    install,
    real::Cluster,
};

/// Namespaces that the documents speak of.
const NAMESPACES: [&str; 2] = ["default", "metal3"];

/// How the blocks and rows are tried.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Args {
    /// Print refusals and warnings whole
    #[arg(long)]
    verbose: bool,
}

/// Gives every block and row to a cluster that is started for it; fails with what the tables say otherwise.
pub fn run(args: &Args) -> Result<()> {
    let (blocks, rows) = (table::read()?, rows::read()?);
    let cluster = Cluster::start()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = Client::new(&cluster.kubeconfig()).await?;
        let (_webhooks, here) = webhooks::serve().await?;
        conformance::install(&client, &capm3_world::crds()).await?;
        install::install_release(&cluster, &here)?;
        let server = Server::new(client.clone());
        server.until_found(&capm3_api::crd::all()).await?;
        install::until_asked(&client).await?;
        println!("on a real API server that asks our webhooks for rules and conversion");
        let of_blocks = report(&try_all(&server, &blocks).await?, args.verbose);
        let of_rows = play_all(&server, &rows, args.verbose).await;
        of_blocks.and(of_rows)
    })
}

/// Ids and sentences of the rows that a real server is asked for.
pub fn rows_of_a_real_server() -> Result<Vec<(String, String)>> {
    Ok(rows::read()?.into_iter().map(|row| (row.id, row.sentence)).collect())
}

/// The printed blocks that a real server is asked for, by row: id, and the expected answer to each block.
pub fn rows_of_the_table() -> Result<BTreeMap<String, String>> {
    let mut rows: BTreeMap<String, String> = BTreeMap::new();
    for Row { block, id, as_printed, after_migrate, .. } in table::read()? {
        let sentence = rows.entry(id).or_default();
        let and = if sentence.is_empty() { "" } else { "; " };
        sentence.push_str(&format!(
            "{and}printed block {block}: as printed {as_printed}, after `capm3 migrate` {after_migrate}"
        ));
    }
    Ok(rows)
}

/// Runs every row, each reported when it is done.
async fn play_all(server: &Server, rows: &[rows::Row], verbose: bool) -> Result<()> {
    ensure_namespaces(server).await?;
    let (mut writes, mut wrong) = (0, 0);
    for row in rows {
        let Played { writes: asked, differences, words } = play::play(server, row).await?;
        let verdict = if differences.is_empty() { "as it says" } else { "NOT as it says" };
        println!("{:<5} {verdict}, {asked} asked: {}", row.id, row.sentence);
        words.iter().filter(|_| verbose).for_each(|line| println!("    {line}"));
        differences.iter().for_each(|line| eprintln!("{line}"));
        writes += asked;
        wrong += differences.len();
    }
    let as_expected =
        if wrong == 0 { "all as the rows say".to_owned() } else { format!("{wrong} otherwise") };
    println!("{} rows: {writes} writes; {as_expected}", rows.len());
    ensure!(wrong == 0, "tests/seeds/rows say otherwise");
    Ok(())
}

async fn ensure_namespaces(server: &Server) -> Result<()> {
    for namespace in NAMESPACES {
        server.ensure_namespace(namespace).await?;
    }
    Ok(())
}

/// One block in one form, and the answers to its documents.
struct Answered<'a> {
    expected: &'a Expected,
    verdicts: Vec<Verdict>,
}

impl Answered<'_> {
    fn is_expected(&self) -> bool {
        self.verdicts.iter().all(|verdict| self.expected.is_met_by(verdict))
    }
}

/// A block in both forms.
struct Tried<'a> {
    row: &'a Row,
    as_printed: Answered<'a>,
    after_migrate: Answered<'a>,
}

impl Tried<'_> {
    fn forms(&self) -> [(&'static str, &Answered<'_>); 2] {
        [("as printed", &self.as_printed), ("after migrate", &self.after_migrate)]
    }

    /// One line for each document that was not answered as the table says.
    fn differences(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (form, answered) in self.forms() {
            for verdict in answered.verdicts.iter().filter(|verdict| !answered.expected.is_met_by(verdict)) {
                let Row { block, id, .. } = self.row;
                lines.push(format!(
                    "{block} ({id}) {form}: expected `{}`, got {verdict:?}",
                    answered.expected
                ));
            }
        }
        lines
    }
}

async fn try_all<'a>(server: &Server, rows: &'a [Row]) -> Result<Vec<Tried<'a>>> {
    ensure_namespaces(server).await?;
    let mut tried = Vec::new();
    for row in rows {
        let as_printed = Answered { expected: &row.as_printed, verdicts: server.verdicts(&row.text).await? };
        let verdicts = after_migrate(server, row).await?;
        tried.push(Tried {
            row,
            as_printed,
            after_migrate: Answered { expected: &row.after_migrate, verdicts },
        });
    }
    Ok(tried)
}

/// As a user goes on: what `migrate` prints is given to the server; where it prints nothing, it says why.
async fn after_migrate(server: &Server, row: &Row) -> Result<Vec<Verdict>> {
    let file = format!("{}.yaml", row.block);
    let migration = migrate::migrate_texts(&[(file, row.text.clone())], Options::default());
    if migration.documents.is_empty() {
        let messages = migration.problems.into_iter().map(|problem| Verdict::Refused(problem.message));
        return Ok(messages.collect());
    }
    server.verdicts(&migrate::to_yaml(&migration.documents)).await
}

fn report(tried: &[Tried<'_>], verbose: bool) -> Result<()> {
    for one in tried {
        let [printed, migrated] = one.forms().map(|(form, answered)| {
            let not = if answered.is_expected() { "" } else { "NOT " };
            format!("{form} {not}{}", answered.expected)
        });
        println!("{} {:<4}  {printed}; {migrated}", one.row.block, one.row.id);
        let whole = one.forms().into_iter().flat_map(|(_, answered)| &answered.verdicts);
        for verdict in whole.filter(|_| verbose) {
            println!("    {verdict:?}");
        }
    }
    let differences: Vec<String> = tried.iter().flat_map(Tried::differences).collect();
    for line in &differences {
        eprintln!("{line}");
    }
    let as_expected = match differences.len() {
        0 => "all as the table says".to_owned(),
        count => format!("{count} answers otherwise than the table says"),
    };
    let printed = tally(tried.iter().map(|one| &one.as_printed));
    let migrated = tally(tried.iter().map(|one| &one.after_migrate));
    println!("{} blocks: as printed {printed}; after migrate {migrated}; {as_expected}", tried.len());
    ensure!(differences.is_empty(), "tests/seeds/table.txt says otherwise");
    Ok(())
}

fn tally<'a>(answered: impl Iterator<Item = &'a Answered<'a>>) -> String {
    let is_accepted =
        |answered: &&Answered<'_>| answered.verdicts.iter().all(|verdict| *verdict == Verdict::Accepted);
    let (accepted, refused): (Vec<_>, Vec<_>) = answered.partition(is_accepted);
    format!("{} accepted, {} refused", accepted.len(), refused.len())
}
