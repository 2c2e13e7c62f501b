//! IPClaim and IPAddress: what a claim asks for and what an address is never change.

use capm3_api::vocabulary::annotation::REQUESTED_ADDRESS;

use super::{FieldError, Rule, findings::Findings, node::Node};
use crate::address::Address;

const EMPTY: &str = "cannot be empty";
const FIXED: &str = "cannot be modified: create another object instead";

pub(super) fn check_new_claim(object: &Node<'_>, findings: &mut Findings) {
    require(&object.at("spec").at("pool").at("name"), findings);
    check_requested(object, findings);
}

pub(super) fn check_changed_claim(old: &Node<'_>, new: &Node<'_>, findings: &mut Findings) {
    keep_reference("pool", old, new, findings);
    check_requested(new, findings);
}

pub(super) fn check_new_address(object: &Node<'_>, findings: &mut Findings) {
    let spec = object.at("spec");
    let address = spec.at("address");
    require(&spec.at("pool").at("name"), findings);
    require(&spec.at("claim").at("name"), findings);
    require(&address, findings);
    if let Some(text) = address.text() {
        check_address(&address, text, findings);
    }
    check_requested(object, findings);
}

pub(super) fn check_changed_address(old: &Node<'_>, new: &Node<'_>, findings: &mut Findings) {
    let address = new.at("spec").at("address");
    if old.at("spec").at("address").text() != address.text() {
        findings.errors.push(FieldError::invalid(
            Rule::AddressFixed,
            address.path(),
            address.text_or_empty(),
            FIXED,
        ));
    }
    keep_reference("pool", old, new, findings);
    keep_reference("claim", old, new, findings);
    check_requested(new, findings);
}

fn require(node: &Node<'_>, findings: &mut Findings) {
    if node.text().is_none() {
        findings.errors.push(FieldError::invalid(Rule::AddressParts, node.path(), "", EMPTY));
    }
}

fn check_address(node: &Node<'_>, text: &str, findings: &mut Findings) {
    if text.parse::<Address>().is_err() {
        findings.errors.push(FieldError::invalid(
            Rule::Address,
            node.path(),
            text,
            "is not a valid IP address",
        ));
    }
}

/// The address that somebody asks for by annotation.
fn check_requested(object: &Node<'_>, findings: &mut Findings) {
    let requested = object.at("metadata").at("annotations").at(REQUESTED_ADDRESS);
    if let Some(text) = requested.text() {
        check_address(&requested, text, findings);
    }
}

fn keep_reference(member: &str, old: &Node<'_>, new: &Node<'_>, findings: &mut Findings) {
    let (was, is) = (old.at("spec").at(member), new.at("spec").at(member));
    let differs = |part: &str| was.at(part).text() != is.at(part).text();
    if ["name", "namespace", "kind"].into_iter().any(differs) {
        findings.errors.push(FieldError::invalid(Rule::AddressFixed, is.path(), is.shown(), FIXED));
    }
}
