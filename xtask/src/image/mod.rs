//! `cargo xtask image`: the image of the manager as an OCI archive, made without a container engine.
//!
//! One static program, the files that it needs, and a bill of materials. The same commit gives the same digest wherever it is
//! built, with the same compiler and C library. `cargo xtask real image` runs what it gives.

mod bill;
mod contents;
mod dns;
mod oci;
mod running;
mod sandbox;
mod source;
mod tar;
mod tools;

use std::{fs, path::PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::Value;

pub use self::{oci::Archive, running::run as run_on_a_server};
use self::{oci::Image, source::Source, tools::Tools};
use crate::repo;

/// The only one for which it is built.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// What to build.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// File to write [default: target/image/capm3.tar]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Write the files of the image to this folder instead, as the Dockerfile needs them
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "twice"])]
    folder: Option<PathBuf>,

    /// Build it again in another folder and compare the digests
    #[arg(long)]
    twice: bool,
}

/// Builds it and says what it is.
pub fn run(options: &Options) -> Result<()> {
    let source = Source::of(&repo::root())?;
    let (image, bill) = image(&source)?;
    if let Some(folder) = &options.folder {
        oci::write(&image, folder)?;
        say(&format!("wrote the files of {} to {}", image.reference, folder.display()));
        return Ok(());
    }
    let archive = image.archive()?;
    let file = options.output.clone().unwrap_or_else(usual);
    fs::write(&file, &archive.bytes).with_context(|| format!("writing {}", file.display()))?;
    let mb = |bytes: usize| bytes as f64 / 1e6;
    let components = bill.pointer("/components").and_then(Value::as_array).map_or(0, Vec::len);
    say(&format!("{} of commit {}", image.reference, source.commit));
    say(&format!("digest {}", archive.digest));
    say(&format!("{:.1} MB, {:.1} MB unpacked", mb(archive.bytes.len()), mb(archive.unpacked)));
    say(&format!("{components} components in /{}", contents::BILL));
    say(&format!("wrote {}", file.display()));
    if options.twice { again(&source, &image, &archive) } else { Ok(()) }
}

fn usual() -> PathBuf {
    repo::root().join("target/image/capm3.tar")
}

/// Builds the archive to its usual place.
pub fn build() -> Result<(PathBuf, Archive)> {
    let archive = image(&Source::of(&repo::root())?)?.0.archive()?;
    fs::write(usual(), &archive.bytes).with_context(|| format!("writing {}", usual().display()))?;
    Ok((usual(), archive))
}

/// Why skopeo and umoci cannot look at an archive here.
pub fn obstacle() -> Option<String> {
    sandbox::possible().and_then(|()| Tools::fetch().map(drop)).err().map(|error| format!("{error:#}"))
}

/// Has skopeo and umoci read an archive with a stand-in for the program, which takes minutes to build.
pub fn check_format() -> Result<()> {
    let source = Source::of(&repo::root())?;
    let image = contents::image(&source, b"a stand-in for the program".to_vec(), &bill::of(&source)?)?;
    let (archive, file) = (image.archive()?, usual().with_file_name("stand-in.tar"));
    fs::create_dir_all(file.parent().context("a path without a folder")?)?;
    fs::write(&file, &archive.bytes).with_context(|| format!("writing {}", file.display()))?;
    let root = Tools::fetch()?.unpack(&file, &archive)?;
    for (path, node) in image.layers.iter().flat_map(|(_, tree)| tree) {
        let path = root.join(path);
        let is_same = match node {
            tar::Node::Folder => path.is_dir(),
            tar::Node::File(content) | tar::Node::Program(content) => fs::read(&path)? == *content,
            tar::Node::Link(target) => fs::read_link(&path)?.as_os_str() == target.as_str(),
        };
        ensure!(is_same, "{} is not what was put in", path.display());
    }
    say(&format!("skopeo and umoci read {} as it was written", archive.digest));
    Ok(())
}

fn image(source: &Source) -> Result<(Image, Value)> {
    let program = source.program()?;
    for folder in [&source.folder, &repo::root()] {
        let name = folder.to_str().context("a path that is not text")?;
        ensure!(!contains(&program, name), "the program has the name of the folder {name} in it");
    }
    let bill = bill::of(source)?;
    Ok((contents::image(source, program, &bill)?, bill))
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// The same commit in a folder of another name must give the same bytes.
fn again(source: &Source, first: &Image, archive: &Archive) -> Result<()> {
    let folder = tempfile::Builder::new().prefix("capm3-built-in-another-folder-").tempdir()?;
    let (second, _) = image(&source.copied_to(folder.path())?)?;
    let other = second.archive()?;
    if other.digest == archive.digest && other.bytes == archive.bytes {
        say(&format!("built in two folders: one digest, {}", archive.digest));
        return Ok(());
    }
    let trees = || first.layers.iter().zip(&second.layers);
    let differing =
        trees().flat_map(|((_, a), (_, b))| a.iter().filter(|(path, node)| b.get(*path) != Some(node)));
    let differing: Vec<&str> = differing.map(|(path, _)| path.as_str()).collect();
    bail!(
        "built in two folders: {} and {}; these differ: {}",
        archive.digest,
        other.digest,
        differing.join(", ")
    )
}

fn say(what: &str) {
    println!("image: {what}");
}
