use std::collections::BTreeSet;

use super::*;
use crate::{image::contents, image::source::Source, repo};

fn image(program: &[u8]) -> Image {
    let source = Source::of(&repo::root()).unwrap();
    contents::image(&source, program.to_vec(), &json!({"components": []})).unwrap()
}

/// The blobs of an archive by their paths, as the tar of the system unpacks them.
fn unpacked(archive: &Archive) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.tar");
    fs::write(&file, &archive.bytes).unwrap();
    assert!(Command::new("tar").arg("-xf").arg(&file).current_dir(&folder).status().unwrap().success());
    folder
}

fn read(folder: &Path, path: &str) -> Value {
    serde_json::from_slice(&fs::read(folder.join(path)).unwrap()).unwrap()
}

/// The same files give the same bytes and one digest, and any other byte gives another digest.
#[test]
fn pk149_the_digest_of_an_image_follows_from_its_files() {
    let (one, two) = (image(b"program").archive().unwrap(), image(b"program").archive().unwrap());
    assert!(one.digest == two.digest && one.bytes == two.bytes);
    assert_ne!(one.digest, image(b"programs").archive().unwrap().digest);
}

#[test]
fn every_document_is_found_by_its_digest_and_docker_finds_the_same_layers() {
    let archive = image(b"program").archive().unwrap();
    let folder = unpacked(&archive);
    let index = read(folder.path(), "index.json");
    assert_eq!(index["manifests"][0]["digest"], archive.digest.as_str());
    let manifest = read(folder.path(), &path(&index["manifests"][0]));
    let config = read(folder.path(), &path(&manifest["config"]));
    let layers = manifest["layers"].as_array().unwrap();
    assert_eq!(layers.len(), 2);
    for (layer, id) in layers.iter().zip(config["rootfs"]["diff_ids"].as_array().unwrap()) {
        let file = folder.path().join(path(layer));
        assert_eq!(digest(&fs::read(&file).unwrap()), layer["digest"]);
        let plain = Command::new("gzip").arg("-dc").stdin(fs::File::open(file).unwrap()).output().unwrap();
        assert_eq!(digest(&plain.stdout), *id);
    }
    let docker = read(folder.path(), "manifest.json");
    let named: Vec<String> = layers.iter().map(path).collect();
    assert_eq!(docker[0]["Layers"], json!(named));
    assert_eq!(docker[0]["Config"], path(&manifest["config"]));
}

#[test]
fn user_and_command_are_those_of_the_deployment() {
    let objects = capm3_install::Install::default().objects();
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let security = &container["securityContext"];
    assert_eq!(format!("{}:{}", security["runAsUser"], security["runAsGroup"]), USER);
    assert_eq!(container["command"], json!([ENTRYPOINT]));
    assert_eq!(container["image"], image(b"").reference.as_str());
    let ports =
        container["ports"].as_array().unwrap().iter().map(|it| format!("{}/tcp", it["containerPort"]));
    let config = image(b"").config(&[]);
    let exposed: BTreeSet<String> =
        config["config"]["ExposedPorts"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(exposed, ports.collect());
}

#[test]
fn the_dockerfile_says_the_same_of_the_image() {
    let text = fs::read_to_string(repo::root().join("Dockerfile")).unwrap();
    let toolchain = fs::read_to_string(repo::root().join("rust-toolchain.toml")).unwrap();
    let version = toolchain.split('"').nth(1).unwrap();
    assert_eq!(text.matches(version).count(), 2, "{version}");
    let config = image(b"").config(&[]);
    for (label, value) in config["config"]["Labels"].as_object().unwrap() {
        let value = if label.ends_with(".revision") { "${CAPM3_COMMIT}" } else { value.as_str().unwrap() };
        assert!(text.contains(&format!("{label}=\"{value}\"")), "{label}={value}");
    }
    let ports = config["config"]["ExposedPorts"].as_object().unwrap().keys();
    let ports: Vec<&str> = ports.map(|port| port.trim_end_matches("/tcp")).collect();
    for line in [
        format!("USER {USER}"),
        format!("EXPOSE {}", ports.join(" ")),
        format!("ENTRYPOINT [\"{ENTRYPOINT}\"]"),
        "RUN cargo xtask image --folder /image".to_owned(),
        "COPY --from=build /image/ /".to_owned(),
    ] {
        assert!(text.lines().any(|it| it == line), "no line {line}");
    }
    assert!(text.contains(&format!("docker build -t {} ", image(b"").reference)));
}

#[test]
fn the_files_of_an_image_are_written_to_an_empty_folder_only() {
    let folder = tempfile::tempdir().unwrap();
    let image = image(b"program");
    write(&image, folder.path()).unwrap();
    assert_eq!(fs::read(folder.path().join("manager")).unwrap(), b"program", "a link to it");
    let mode = fs::metadata(folder.path().join("capm3")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);
    let reported = write(&image, folder.path()).unwrap_err().to_string();
    assert!(reported.ends_with("is not empty"), "{reported}");
}
