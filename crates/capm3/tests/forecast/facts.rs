//! What became of each machine, read off the objects.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

/// By namespace and name of the Metal3Machine.
pub type Facts = BTreeMap<String, Fact>;

/// What a machine has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fact {
    pub host: Option<String>,
    pub data_template: Option<String>,
    pub data: Option<String>,
    pub index: Option<i64>,
    /// By pool.
    pub addresses: BTreeMap<String, String>,
    pub meta_data: Option<String>,
    pub network_data: Option<String>,
}

impl Fact {
    /// The same machine as long as nothing was done for it.
    pub fn untouched(&self) -> Self {
        Self { data_template: self.data_template.clone(), ..Self::default() }
    }
}

/// The facts of every machine among the objects that `list` gives by kind.
pub fn facts(list: impl Fn(&str) -> Vec<Value>) -> Facts {
    let by_key = |kind: &str| -> BTreeMap<String, Value> {
        list(kind).into_iter().map(|object| (key(&object), object)).collect()
    };
    let (claims, datas, secrets) = (by_key("Metal3DataClaim"), by_key("Metal3Data"), by_key("Secret"));
    let addresses = list("IPAddress");
    let machines = list("Metal3Machine").into_iter().map(|machine| {
        let home = text(&machine, "/metadata/namespace").unwrap();
        let here = |name: String| format!("{home}/{name}");
        let data = claims.get(&key(&machine)).and_then(|claim| text(claim, "/status/renderedData/name"));
        let data = data.and_then(|name| datas.get(&here(name)));
        let document = |field: &str| {
            let name = text(data?, &format!("/spec/{field}/name"))?;
            let content = text(secrets.get(&here(name))?, &format!("/data/{field}"))?;
            Some(String::from_utf8(STANDARD.decode(content).unwrap()).unwrap())
        };
        let of_data = |address: &&Value| {
            let claim = text(address, "/spec/claim/name").unwrap_or_default();
            let owner = data.and_then(|data| text(data, "/metadata/name"));
            let is_here = text(address, "/metadata/namespace").as_ref() == Some(&home);
            is_here
                && owner
                    .is_some_and(|owner| claim.strip_prefix(&owner).is_some_and(|rest| rest.starts_with('-')))
        };
        let given = addresses.iter().filter(of_data).map(|address| {
            (text(address, "/spec/pool/name").unwrap(), text(address, "/spec/address").unwrap())
        });
        let fact = Fact {
            host: text(&machine, "/metadata/annotations/metal3.io~1BareMetalHost"),
            data_template: text(&machine, "/spec/dataTemplate/name"),
            data: data.and_then(|data| text(data, "/metadata/name")),
            index: data.and_then(|data| data.pointer("/spec/index")?.as_i64()),
            addresses: given.collect(),
            meta_data: document("metaData"),
            network_data: document("networkData"),
        };
        (key(&machine), fact)
    });
    machines.collect()
}

fn key(object: &Value) -> String {
    let text = |pointer| text(object, pointer).unwrap_or_default();
    format!("{}/{}", text("/metadata/namespace"), text("/metadata/name"))
}

fn text(object: &Value, pointer: &str) -> Option<String> {
    object.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}
