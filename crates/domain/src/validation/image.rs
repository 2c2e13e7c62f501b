//! What a machine is given to boot: an image with its checksum, or a custom deploy step instead.

use super::{FieldError, Rule, findings::Findings, node::Node, url::is_request_uri};

/// The format that is booted as it is and needs no checksum.
const LIVE_ISO: &str = "live-iso";

/// Judges `image` and `customDeploy` of a machine's spec. `base` is the path of the image in the words of the Go
/// provider's errors, which tools already look for.
pub(super) fn check(spec: &Node<'_>, base: &str, findings: &mut Findings) {
    if spec.at("customDeploy").at("method").text().is_some() {
        return;
    }
    let (image, here) = (spec.at("image"), spec.path());
    let (url, checksum) = (image.at("url"), image.at("checksum"));
    let errors = &mut findings.errors;
    if url.text().is_none() && checksum.value().is_none() {
        let detail = format!(
            "either image or customDeploy is required: set {here}.image.url and {here}.image.checksum, or \
             {here}.customDeploy.method"
        );
        errors.push(FieldError::required(Rule::ImageMissing, base, detail));
        return;
    }
    match url.text() {
        None => {
            let detail = format!("cannot be empty: set {} to where the image is", url.path());
            errors.push(FieldError::required(Rule::ImageUrl, format!("{base}.URL"), detail));
        }
        Some(text) if !is_request_uri(text) => {
            let detail =
                format!("not a valid URL: {} needs a form such as http://host/image.qcow2", url.path());
            errors.push(FieldError::invalid(Rule::ImageUrl, format!("{base}.URL"), text, detail));
        }
        Some(_) => {}
    }
    if url.text().is_some_and(is_oci) {
        oci(&image, base, errors);
    } else if image.at("diskFormat").text() != Some(LIVE_ISO) {
        check_checksum(&checksum, base, errors);
    }
}

fn is_oci(url: &str) -> bool {
    url.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("oci://"))
}

/// An OCI image is named by its own digest.
fn oci(image: &Node<'_>, base: &str, errors: &mut Vec<FieldError>) {
    for (member, name) in [("checksum", "Checksum"), ("checksumType", "ChecksumType")] {
        let member = image.at(member);
        if member.text().is_some() {
            let detail = format!("must be empty for OCI images: remove {}", member.path());
            errors.push(FieldError::forbidden(Rule::OciChecksum, format!("{base}.{name}"), detail));
        }
    }
}

fn check_checksum(checksum: &Node<'_>, base: &str, errors: &mut Vec<FieldError>) {
    let path = format!("{base}.Checksum");
    match checksum.text() {
        None => {
            let detail = format!(
                "cannot be empty: set {} to the checksum or its URL; only live-iso and OCI images need none",
                checksum.path()
            );
            errors.push(FieldError::required(Rule::ImageChecksum, path, detail));
        }
        Some(text) if is_web(text) && !is_request_uri(text) => {
            let detail = format!(
                "not a valid URL: {} needs a form such as http://host/image.sha256sum",
                checksum.path()
            );
            errors.push(FieldError::invalid(Rule::ImageChecksum, path, text, detail));
        }
        Some(_) => {}
    }
}

fn is_web(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}
