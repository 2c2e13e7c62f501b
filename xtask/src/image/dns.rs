//! A DNS server on loopback that knows a few names of the older family, and what it was asked.
//!
//! It listens on port 53, because resolv.conf cannot name another one, at an address of this machine that nobody else uses.

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, UdpSocket},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use anyhow::{Context, Result};

/// The header of a message.
const HEADER: usize = 12;
const TYPE_A: [u8; 4] = [0, 1, 0, 1];

/// A server for as long as this process lives.
pub struct Server {
    pub address: Ipv4Addr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Serves these names, each with a dot at its end.
    pub fn start(known: BTreeMap<&'static str, Ipv4Addr>) -> Result<Self> {
        let free = |last| {
            let address = Ipv4Addr::new(127, 53, 53, last);
            Some((address, UdpSocket::bind((address, 53)).ok()?))
        };
        let (address, socket) =
            (1..=50).find_map(free).context("port 53 is free at no address from 127.53.53.1 on")?;
        let asked = Arc::new(Mutex::new(Vec::new()));
        let server = Self { address, asked: asked.clone() };
        thread::spawn(move || {
            let mut buffer = [0; 1500];
            while let Ok((size, from)) = socket.recv_from(&mut buffer) {
                let Some((name, answer)) = buffer.get(..size).and_then(|message| answer(message, &known))
                else {
                    continue;
                };
                asked.lock().unwrap_or_else(PoisonError::into_inner).push(name);
                // Whoever asked may be gone.
                socket.send_to(&answer, from).ok();
            }
        });
        Ok(server)
    }

    /// Every name that it was asked for so far.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The name that a question is about, and the answer to it.
fn answer(message: &[u8], known: &BTreeMap<&'static str, Ipv4Addr>) -> Option<(String, Vec<u8>)> {
    let mut name = String::new();
    let mut rest = message.get(HEADER..)?;
    loop {
        let (length, after) = rest.split_first()?;
        let (label, after) = after.split_at_checked(usize::from(*length))?;
        rest = after;
        if label.is_empty() {
            break;
        }
        name.push_str(std::str::from_utf8(label).ok()?);
        name.push('.');
    }
    let (kind, _) = rest.split_at_checked(4)?;
    let end = message.len() - rest.len() + 4;
    let address = known.get(name.to_ascii_lowercase().as_str());
    let answers = address.filter(|_| kind == TYPE_A);
    let code = if address.is_some() { 0 } else { 3 };
    let mut bytes = message.get(..2)?.to_vec();
    // A final answer; recursion was wanted and is there. One question, and an answer or none.
    bytes.extend([0x85, 0x80 | code, 0, 1, 0, u8::from(answers.is_some()), 0, 0, 0, 0]);
    bytes.extend(message.get(HEADER..end)?);
    if let Some(address) = answers {
        // The name of the question, for five seconds.
        bytes.extend([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4]);
        bytes.extend(address.octets());
    }
    Some((name, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(kind: u8) -> Vec<u8> {
        let mut message = vec![7, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        message.extend(b"\x01a\x07example\x00");
        message.extend([0, kind, 0, 1]);
        message
    }

    #[test]
    fn a_known_name_has_an_address_and_an_unknown_one_is_not_there() {
        let known = BTreeMap::from([("a.example.", Ipv4Addr::new(192, 0, 2, 1))]);
        let (name, found) = answer(&question(1), &known).unwrap();
        assert_eq!(name, "a.example.");
        assert_eq!((found[..2].to_vec(), found[3] & 15, found[7]), (vec![7, 9], 0, 1));
        assert!(found.ends_with(&[0, 4, 192, 0, 2, 1]));
        let (_, other_family) = answer(&question(28), &known).unwrap();
        assert_eq!((other_family[3] & 15, other_family[7]), (0, 0));
        let (_, unknown) = answer(&question(1), &BTreeMap::new()).unwrap();
        assert_eq!((unknown[3] & 15, unknown[7]), (3, 0));
        assert_eq!(answer(&question(1)[..20], &known), None, "cut short");
    }
}
