//! How control-plane machines are spread over failure domains. Where the rules leave a tie the name decides, so that
//! runs repeat.

/// A machine as far as spreading goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) name: String,
    pub(super) domain: Option<String>,
    /// Creation time; times of one format compare as text.
    pub(super) created: String,
    pub(super) up_to_date: bool,
    pub(super) deleting: bool,
}

/// The domain for one more machine: the fewest machines that are up to date and stay, then the fewest at all.
pub(super) fn for_new(domains: &[String], machines: &[Placed]) -> Option<String> {
    let key = |domain: &String| {
        let here = || machines.iter().filter(move |m| m.domain.as_ref() == Some(domain));
        (here().filter(|m| m.up_to_date && !m.deleting).count(), here().count(), domain.clone())
    };
    domains.iter().min_by_key(|domain| key(domain)).cloned()
}

/// The candidate that goes: first one whose domain is not listed (any more), otherwise one of the domain with the
/// most candidates, then the most machines; the oldest of those.
pub(super) fn to_delete(domains: &[String], candidates: &[Placed], machines: &[Placed]) -> Option<String> {
    let listed = |m: &&Placed| m.domain.as_ref().is_some_and(|d| domains.contains(d));
    let oldest =
        |among: Vec<&Placed>| among.into_iter().min_by_key(|m| (&m.created, &m.name)).map(|m| m.name.clone());
    let strays: Vec<&Placed> = candidates.iter().filter(|m| !listed(m)).collect();
    if !strays.is_empty() {
        return oldest(strays);
    }
    let number =
        |of: &[Placed], domain: &String| of.iter().filter(|m| m.domain.as_ref() == Some(domain)).count();
    let fullest = domains.iter().rev().max_by_key(|d| (number(candidates, d), number(machines, d)))?;
    oldest(candidates.iter().filter(|m| m.domain.as_ref() == Some(fullest)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domains(names: &str) -> Vec<String> {
        names.split_whitespace().map(str::to_owned).collect()
    }

    /// `a:n b:o` is an up-to-date machine in a and an outdated one in b, oldest first.
    fn machines(text: &str) -> Vec<Placed> {
        let machine = |(at, word): (usize, &str)| {
            let (domain, age) = word.split_once(':').unwrap();
            Placed {
                name: word.to_owned(),
                domain: (domain != "-").then(|| domain.to_owned()),
                created: format!("{at:03}"),
                up_to_date: age == "n",
                deleting: age == "d",
            }
        };
        text.split_whitespace().enumerate().map(machine).collect()
    }

    #[test]
    fn a_new_machine_goes_where_the_fewest_current_ones_stand() {
        let rows = [
            ("a b c", "", "a b c"),
            ("a b c", "a:n", "b c"),
            ("a b c", "a:n b:n", "c"),
            ("a b c", "a:o b:o c:o", "a b c"),
            ("a b c", "a:n b:o c:o", "b c"),
            ("a b c", "a:n b:n c:o", "c"),
            ("a b c", "a:o c:o c:n", "b"),
            ("a b", "a:n b:n", "a b"),
            ("a b", "a:o a:o b:o", "b"),
            ("a b", "-:n x:n a:n", "b"),
            ("a b", "a:d b:n", "a"),
        ];
        for (listed, there, allowed) in rows {
            let chosen = for_new(&domains(listed), &machines(there)).unwrap();
            assert!(allowed.split_whitespace().any(|d| d == chosen), "{listed} | {there} -> {chosen}");
        }
        assert_eq!(for_new(&[], &machines("a:n")), None);
    }

    #[test]
    fn the_fullest_domain_loses_its_oldest_candidate() {
        let rows = [
            ("a b c", "a:o a:n b:o c:o", "a"),
            ("a b c", "a:n b:o b:n c:o", "b"),
            ("a b c", "a:n b:n c:o c:n", "c"),
            ("a b", "a:o a:o a:n b:o", "a"),
        ];
        for (listed, there, expected) in rows {
            let all = machines(there);
            let outdated: Vec<Placed> = all.iter().filter(|m| !m.up_to_date).cloned().collect();
            let gone = to_delete(&domains(listed), &outdated, &all).unwrap();
            assert_eq!(gone, format!("{expected}:o"), "{listed} | {there}");
        }
    }

    #[test]
    fn a_machine_in_an_unlisted_domain_goes_first_and_without_domains_the_oldest_goes() {
        let all = machines("a:n b:n x:n");
        assert_eq!(to_delete(&domains("a b"), &all, &all).as_deref(), Some("x:n"));
        let all = machines("-:n a:n");
        assert_eq!(to_delete(&[], &all, &all).as_deref(), Some("-:n"));
        assert_eq!(to_delete(&domains("a"), &[], &all), None);
    }
}
