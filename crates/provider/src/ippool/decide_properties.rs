//! Whatever happens around a pool, in any order: no address ever has two owners.

use proptest::prelude::*;

use super::*;

/// What happens around a pool.
#[derive(Debug, Clone)]
enum Event {
    Create(u8, bool, Option<u8>),
    Delete(u8),
    /// Whoever else held the claims releases them.
    Release,
    /// A pass of which only so many writes reach the server.
    Crash(usize),
    Pass,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0_u8..8, any::<bool>(), prop::option::weighted(0.2, 1_u8..9)).prop_map(|(n, held, requested)| Event::Create(n, held, requested)),
        3 => (0_u8..8).prop_map(Event::Delete),
        1 => Just(Event::Release),
        2 => (0_usize..8).prop_map(Event::Crash),
        3 => Just(Event::Pass),
    ]
}

fn happen(memory: &mut Memory, event: &Event, now: u32) {
    match event {
        Event::Create(n, held, requested) => {
            let name = format!("c{n}");
            let mut claim = claim(&name);
            claim["metadata"]["uid"] = json!(format!("uid-{n}-{now}"));
            if *held {
                claim["metadata"]["finalizers"] = json!(["other"]);
            }
            if let Some(requested) = requested {
                claim["metadata"]["annotations"] = json!({"ipAddress": format!("10.0.0.{requested}")});
            }
            if memory.list::<IpClaim>().iter().all(|claim| claim["metadata"]["name"] != json!(name)) {
                memory.put_whole::<IpClaim>(claim);
            }
        }
        Event::Delete(n) => memory.delete::<IpClaim>(&key(&format!("c{n}"))),
        Event::Release => {
            for claim in memory.list::<IpClaim>() {
                let finalizers = claim["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
                let left: Vec<Value> = finalizers.into_iter().filter(|f| f != "other").collect();
                let name = claim["metadata"]["name"].as_str().unwrap();
                memory.change::<IpClaim>(&key(name), &json!({"metadata": {"finalizers": left}}));
            }
        }
        Event::Crash(writes) => {
            let plan = plan(memory, now);
            memory.act_until_crash(plan, *writes).unwrap();
        }
        Event::Pass => {
            pass(memory, now);
        }
    }
}

fn nobody_shares(memory: &Memory) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let addresses: Vec<String> =
        memory.list::<IpAddress>().iter().map(|a| text(&a["spec"]["address"])).collect();
    let mut claims = memory.list::<IpClaim>();
    claims.retain(|claim| {
        claim["metadata"]["deletionTimestamp"].is_null()
            || claim["metadata"]["finalizers"].to_string().contains("other")
    });
    let given: Vec<String> =
        claims.iter().map(|c| text(&c["status"]["address"]["name"])).filter(|n| !n.is_empty()).collect();
    for list in [&addresses, &given] {
        assert_eq!(list.iter().collect::<BTreeSet<_>>().len(), list.len(), "{list:?}");
    }
    let known: BTreeSet<String> =
        memory.list::<IpAddress>().iter().map(|a| text(&a["metadata"]["name"])).collect();
    assert!(given.iter().all(|name| known.contains(name)), "no claim lost its address");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_address_ever_has_two_owners_and_all_is_quiet_at_rest(
        random: bool,
        reserved in prop::option::of(0_u8..8),
        events in prop::collection::vec(event(), 1..40),
    ) {
        let reservations: BTreeMap<String, String> = reserved.map(|n| (format!("c{n}"), "10.0.0.2".into())).into_iter().collect();
        let spec = json!({"namePrefix": "x", "allocationStrategy": if random { "random" } else { "sequential" },
            "preAllocations": reservations,
            "pools": [{"start": "10.0.0.1", "end": "10.0.0.3"}, {"start": "2001:db8::1", "end": "2001:db8::2"}]});
        let mut memory = world(spec, &[]);
        for (now, event) in events.iter().enumerate() {
            happen(&mut memory, event, u32::try_from(now).unwrap());
            nobody_shares(&memory);
        }
        pass(&mut memory, 1000);
        nobody_shares(&memory);
        prop_assert!(plan(&memory, 1001).is_quiet(), "{}", plan(&memory, 1001));
        happen(&mut memory, &Event::Release, 1002);
        for claim in memory.list::<IpClaim>() {
            memory.delete::<IpClaim>(&key(claim["metadata"]["name"].as_str().unwrap()));
        }
        pass(&mut memory, 1003);
        prop_assert!(memory.list::<IpClaim>().is_empty() && memory.list::<IpAddress>().is_empty(), "nothing is left behind");
        prop_assert!(plan(&memory, 1004).is_quiet());
    }
}
