//! `capm3 render`: what each machine would find on its disk, from manifests alone.

mod live;
mod node;
mod text;

use std::path::PathBuf;

use capm3_domain::consumers::Reader;
use capm3_engine::manifests::{self, Document, Reading};
use capm3_offline::render::{self, Options, Rendering};
use clap::{Args, ValueEnum};
use serde_json::json;
use tracing::info;

use crate::{
    exit::{self, Failure},
    lint::brief as lint,
    numbers,
    problems::{self, refusals},
};

/// What `render` takes.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct RenderArgs {
    /// Files or folders of manifests, or - for standard input
    #[arg(short, long = "filename", required = true, value_name = "FILE")]
    filename: Vec<PathBuf>,
    /// Only the Metal3Machine of this name
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    /// Only the machine on the BareMetalHost of this name
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Invent N machines, instead of those that control planes and MachineDeployments ask for
    #[arg(long, value_name = "N", value_parser = numbers::whole::<usize>)]
    machines: Option<usize>,
    /// Metal3MachineTemplate or Metal3DataTemplate of the invented machines; without it, the first
    /// Metal3DataTemplate
    #[arg(long, value_name = "NAME", requires = "machines")]
    template: Option<String>,
    /// What to print: the documents as YAML, each below a comment that names its machine, or everything as JSON
    #[arg(short, long, value_enum, default_value_t = Output::Yaml)]
    output: Output,
    /// Show what the node makes of its networkData: what the cloud-init of its image configures with this RENDERER
    /// (netplan, networkd, network_manager, sysconfig, sysconfig_suse, eni), and what it drops. VERSION is that of
    /// cloud-init, 22.4.2 to 26.2, that of Debian 12 with its revision, such as 22.4.2-1+deb12u4; without it, the newest.
    /// talos and nmstate show these readers; they are unverified. The exit code is 1 if the document is refused
    #[arg(long = "as", value_name = "RENDERER[@VERSION]", conflicts_with = "diff")]
    reader: Option<Reader>,
    /// With --as: each link of the document on the left, the interface that comes of it on the right; a minus marks
    /// what is lost
    #[arg(long, requires = "reader", conflicts_with = "output")]
    side_by_side: bool,
    /// Compare with the Secrets of a cluster. Which hosts, indexes and addresses are in use is read from the cluster;
    /// templates, pools and other objects come from the files. The exit code is 1 if a Secret would differ
    #[arg(long, requires = "kubeconfig", conflicts_with = "output")]
    diff: bool,
    /// Kubeconfig of the cluster for --diff
    #[arg(long, env = "KUBECONFIG", value_name = "PATH")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; without it, the current one
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Only this namespace
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
}

const HELP: &str = "Renders the metaData and networkData of every machine, byte for byte as the controllers store them in Secrets. Hosts, indexes and addresses that the files show as allocated (consumerRef, \
Metal3Data, IPAddress) are kept; the rest is allocated as the controllers do it, to the machines in order of \
their names. Machines are the Metal3Machines of the files, and the machines that are still missing for control \
planes and MachineDeployments. A host without status counts as available; its NICs are those of the annotation \
inspect.metal3.io/hardwaredetails.\n\n\
Manifests are validated by the same rules as on an API server with this provider. If one is refused, nothing is rendered, \
because its object might own a host, an index or an address that would otherwise go to another machine. A machine that cannot be \
rendered does not affect other machines. What `capm3 lint` calls an error in objects and templates is a warning here. Errors \
go to stderr with file, line and field, and the exit code is 1.\n\n\
With --as, the output is the network configuration that cloud-init writes on the node. cloud-init accepts any document, \
but writes only what its renderer supports: a bond may come up without its mode, or not at all. Ubuntu and Debian images use \
netplan, Fedora and RHEL 9 network_manager, RHEL 7 and 8 sysconfig, SLES sysconfig_suse, Photon OS networkd, older \
Debian and Alpine eni. `cloud-init --version` on the image tells the version. This output was compared \
with what nine versions of cloud-init write for hundreds of documents. It does not consider limits of the kernel. talos shows what \
Talos makes of the document, nmstate what the document is as desired state of nmstate. Both are unverified: nobody compared them \
with the real ones.\n\n\
Examples:\n  \
  capm3 render -f examples/three-racks                               every machine of the example\n  \
  capm3 render -f examples/three-racks --host rack2-host-1           the machine on one host\n  \
  capm3 render -f template.yaml -f pool.yaml --machines 3            three invented machines\n  \
  kubectl get m3m,bmh,m3dt,m3d,ippool,m3ipa -o yaml | capm3 render -f -\n  \
  capm3 render -f template.yaml --diff --kubeconfig ~/.kube/config   effects of a changed template\n  \
  capm3 render -f examples/three-racks --as network_manager@24.1.7   what nodes with this image configure\n  \
  capm3 render -f examples/three-racks --as netplan --side-by-side   the same beside the documents";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Yaml,
    Json,
}

/// Runs `render`.
pub fn run(args: &RenderArgs) -> Result<(), Failure> {
    let Reading { mut documents, problems } = manifests::read(&args.filename)?;
    let mut problems = problems;
    info!(objects = documents.len(), problems = problems.len(), "manifests are read");
    let judged: Vec<&Document> = documents.iter().filter(|document| render::is_relevant(document)).collect();
    problems.extend(refusals(&judged)?);
    if !problems.is_empty() {
        problems.sort();
        print(args, &Rendering { problems, ..Rendering::default() }, "")?;
        return Err(Failure::Problems);
    }
    let live = match (&args.kubeconfig, args.diff) {
        (Some(kubeconfig), true) => Some(live::Live::connect(kubeconfig, args.context.as_deref())?),
        _ => None,
    };
    if let Some(live) = &live {
        documents = live.complete(documents, args.namespace.as_deref())?;
    }
    let mut rendering = render::render(&documents, &options(args));
    check(args, &rendering)?;
    // What the reader of --as makes of the documents is reported with them.
    rendering.warnings.extend(lint::errors(&documents));
    if let Some(reader) = args.reader {
        return print_nodes(args, &rendering, reader);
    }
    let text = match &live {
        Some(live) => live.differences(&rendering)?.concat(),
        None => text::documents(&rendering),
    };
    print(args, &rendering, &text)?;
    let differs = live.is_some() && !text.is_empty();
    if rendering.problems.is_empty() && !differs { Ok(()) } else { Err(Failure::Problems) }
}

/// Prints what the nodes make of their documents. A document that is refused, or that is no YAML, is a problem.
fn print_nodes(args: &RenderArgs, rendering: &Rendering, reader: Reader) -> Result<(), Failure> {
    let (mut nodes, mut text, mut refusals) = (Vec::new(), Vec::new(), Vec::new());
    for machine in &rendering.machines {
        let node = match render::on_node(machine, reader) {
            Ok(node) => node,
            Err(error) => {
                refusals.push(format!("machine {}: networkData: {error}", machine.whose()));
                continue;
            }
        };
        refusals.extend(node.refusal().map(|refusal| format!("machine {}: {refusal}", machine.whose())));
        let show = if args.side_by_side { node::side_by_side } else { node::interfaces };
        text.push(show(&node, &text::whose(machine), reader));
        nodes.push(node);
    }
    print_data(args, &text.join("\n"), || serde_json::to_string_pretty(&json!({ "machines": nodes })))?;
    print_problems(rendering);
    for refusal in &refusals {
        exit::say(format_args!("error: {refusal}"));
    }
    if rendering.problems.is_empty() && refusals.is_empty() { Ok(()) } else { Err(Failure::Problems) }
}

fn options(args: &RenderArgs) -> Options {
    Options {
        machines: args.machines,
        template: args.template.clone(),
        machine: args.machine.clone(),
        host: args.host.clone(),
        namespace: args.namespace.clone(),
    }
}

/// That there is nothing to show is printed, unless a problem says more.
fn check(args: &RenderArgs, rendering: &Rendering) -> Result<(), Failure> {
    if !rendering.machines.is_empty() || !rendering.problems.is_empty() {
        return Ok(());
    }
    let narrowed = args.machine.is_some() || args.host.is_some();
    Err(Failure::Usage(match (rendering.count, narrowed) {
        (count @ 1.., true) => {
            format!("none of the {count} machines matches --machine or --host; omit them to see all")
        }
        _ => "no machine in the files; add Metal3Machines, a control plane or a MachineDeployment, or use --machines N"
            .to_owned(),
    }))
}

fn print(args: &RenderArgs, rendering: &Rendering, text: &str) -> Result<(), Failure> {
    print_data(args, text, || serde_json::to_string_pretty(rendering))?;
    print_problems(rendering);
    Ok(())
}

fn print_data(
    args: &RenderArgs,
    text: &str,
    json: impl FnOnce() -> serde_json::Result<String>,
) -> Result<(), Failure> {
    match args.output {
        Output::Json => exit::print_json(json()),
        Output::Yaml => exit::print(text),
    }
}

fn print_problems(rendering: &Rendering) {
    for line in problems::warnings(&rendering.warnings) {
        exit::say(line);
    }
    for line in problems::lines(&rendering.problems) {
        exit::say(format_args!("error: {line}"));
    }
}
