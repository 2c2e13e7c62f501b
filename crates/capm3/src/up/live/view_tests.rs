//! Pictures are compared with those in `golden`; `CAPM3_BLESS=1 cargo test -p capm3 live` writes them again.

use std::{fs, path::Path, time::Duration};

use super::*;

const PLAIN: Style = Style { colour: false, unicode: true };

fn host(name: &str, state: &str, user: Option<(&str, Option<&str>)>) -> Host {
    Host {
        name: name.to_owned(),
        state: state.to_owned(),
        machine: user.map(|(machine, _)| machine.to_owned()),
        address: user.and_then(|(_, address)| address).map(str::to_owned),
    }
}

/// The three-rack example half way.
fn half_way() -> Scene {
    let rack = |number: usize, first: Host, third: Host| Rack {
        namespace: None,
        name: format!("rack{number}"),
        hosts: vec![
            first,
            host(&format!("rack{number}-host-2"), "available", None),
            third,
            host(&format!("rack{number}-host-4"), "inspecting", None),
        ],
    };
    let steps = (0..20).map(|n| Step {
        at: Duration::from_millis(400 * n),
        line: format!("machine workers-6mqbz-{n:05} takes host rack2-host-3"),
    });
    Scene {
        elapsed: Duration::from_secs(75),
        racks: vec![
            rack(
                1,
                host("rack1-host-1", "provisioned", Some(("cp-h8q24", Some("10.0.1.10")))),
                host("rack1-host-3", "available", None),
            ),
            rack(
                2,
                host("rack2-host-1", "provisioning", Some(("cp-kmcs7", Some("10.0.2.12")))),
                host("rack2-host-3", "provisioning", Some(("workers-6mqbz-6b2px", Some("10.0.2.11")))),
            ),
            rack(
                3,
                host("rack3-host-1", "provisioning", Some(("cp-d242v", None))),
                host("rack3-host-3", "registering", None),
            ),
        ],
        ready: 1,
        wanted: 6,
        way: 433,
        steps: steps.collect(),
        hint: "export KUBECONFIG=/run/up/kubeconfig".to_owned(),
    }
}

fn many_racks() -> Scene {
    let rack = |number: usize| Rack {
        namespace: None,
        name: format!("rack{number:02}"),
        hosts: (0..8).map(|n| host(&format!("rack{number:02}-host-{n}"), "available", None)).collect(),
    };
    Scene { racks: (0..30).map(rack).collect(), ..half_way() }
}

fn is_as_expected(name: &str, scene: &Scene, width: usize, height: usize, style: Style) {
    let lines = view(scene, Size { width, height }, style);
    assert!(lines.len() <= height, "{name} is too tall");
    if !style.colour {
        assert!(lines.iter().all(|line| line.chars().count() <= width), "{name} is too wide");
    }
    let text = lines.join("\n").replace('\x1b', "^") + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/up/live/golden/{name}.txt"));
    if std::env::var_os("CAPM3_BLESS").is_some_and(|value| value == "1") {
        fs::write(&path, &text).unwrap();
    }
    assert_eq!(text, fs::read_to_string(&path).unwrap(), "see {}", path.display());
}

#[test]
fn where_there_are_several_namespaces_racks_are_named_with_theirs() {
    let mut scene = half_way();
    scene.racks.iter_mut().for_each(|rack| rack.namespace = Some("site".to_owned()));
    for (width, height) in [(120, 40), (80, 24), (40, 30), (40, 12)] {
        let text = view(&scene, Size { width, height }, PLAIN).join("\n");
        assert!(
            ["site/rack1 ", "site/rack2 ", "site/rack3 "].iter().all(|name| text.contains(name)),
            "{text}"
        );
    }
}

#[test]
fn on_a_usual_terminal_racks_stand_beside_each_other() {
    is_as_expected("80x24", &half_way(), 80, 24, PLAIN);
}

#[test]
fn on_a_large_terminal_there_is_room_for_more_steps() {
    is_as_expected("120x40", &half_way(), 120, 40, PLAIN);
}

#[test]
fn on_a_narrow_terminal_racks_stand_below_each_other() {
    is_as_expected("40x30", &half_way(), 40, 30, PLAIN);
}

#[test]
fn on_a_small_terminal_every_rack_is_one_line() {
    is_as_expected("40x12", &half_way(), 40, 12, PLAIN);
}

#[test]
fn when_cards_are_too_tall_every_host_is_one_line() {
    is_as_expected("80x16", &half_way(), 80, 16, PLAIN);
}

#[test]
fn more_racks_than_fit_are_counted() {
    is_as_expected("many-80x24", &many_racks(), 80, 24, PLAIN);
}

#[test]
fn colours_and_letters_follow_the_terminal() {
    is_as_expected("colours", &half_way(), 60, 12, Style { colour: true, unicode: true });
    is_as_expected("ascii", &half_way(), 60, 12, Style { colour: false, unicode: false });
}

#[test]
fn no_terminal_is_too_small_and_an_empty_scene_is_drawn() {
    for (width, height) in [(0, 0), (1, 1), (5, 2), (20, 5), (200, 3), (3, 100)] {
        for scene in [half_way(), many_racks(), Scene::default()] {
            let lines = view(&scene, Size { width, height }, PLAIN);
            assert!(lines.len() <= height && lines.iter().all(|line| line.chars().count() <= width));
        }
    }
}
