//! `capm3 manifests`: what installs the provider in a management cluster.

use std::{fs, path::PathBuf};

use capm3_install::{
    Certificates, Install, default_image,
    files::{self, Files},
};
use clap::{Args, ValueEnum};

use crate::exit::{self, Failure};

/// What `manifests` is given.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    capm3 manifests --image registry.example.com/capm3:v1 | kubectl apply -f -\n  \
    capm3 manifests --format clusterctl --output repository/infrastructure-metal3/v1.14.99\n  \
    capm3 manifests --format kustomize --output base && kubectl apply -k base\n\
    Names, labels and selectors are those of the Go provider: its installation is updated in place.")]
pub struct ManifestsArgs {
    /// Form of the files
    #[arg(long, value_enum, default_value_t = Format::Plain)]
    format: Format,

    /// Folder to write to; without it, the components go to stdout
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Image of the manager, with the binary at /manager
    #[arg(long, default_value_t = default_image())]
    image: String,

    /// Install the built-in address manager too: CRDs, webhooks and rights for IPPool, IPClaim and IPAddress, and its flag.
    /// Leave it out where Metal3 IPAM is installed
    #[arg(long)]
    enable_ipam: bool,

    /// Have the manager make its own webhook certificate, so that cert-manager is not needed
    #[arg(long)]
    self_managed_certs: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For kubectl apply: variables have their defaults
    Plain,
    /// A release for clusterctl: components with variables, metadata.yaml, cluster templates
    Clusterctl,
    /// A base for kustomize: one folder per group of objects
    Kustomize,
}

/// Prints the components or writes the files.
pub fn run(args: &ManifestsArgs) -> Result<(), Failure> {
    let certificates =
        if args.self_managed_certs { Certificates::SelfManaged } else { Certificates::CertManager };
    let install = Install { image: args.image.clone(), ipam: args.enable_ipam, certificates };
    let Some(folder) = &args.output else {
        return match args.format {
            Format::Plain => exit::print(&files::plain(&install)),
            Format::Clusterctl => exit::print(&files::components(&install)),
            Format::Kustomize => {
                Err(Failure::Usage("--format kustomize writes several files: set --output DIR".to_owned()))
            }
        };
    };
    let files = match args.format {
        Format::Plain => Files::from([("infrastructure-components.yaml".to_owned(), files::plain(&install))]),
        Format::Clusterctl => files::clusterctl(&install),
        Format::Kustomize => files::kustomize(&install),
    };
    for (path, text) in files {
        let path = folder.join(path);
        let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, text));
        written.map_err(|error| Failure::CouldNotRun(format!("--output {}: {error}", path.display())))?;
        exit::say(format_args!("wrote {}", path.display()));
    }
    Ok(())
}
