//! Named pairs of recovery and congestion control: what people call "a TCP".

/// A named pair.
#[derive(Debug, PartialEq, Eq)]
pub struct Variant {
    /// The name in scenarios and on the command line.
    pub name: &'static str,
    /// Entry of [`recovery::ALL`](super::recovery::ALL).
    pub recovery: &'static str,
    /// Entry of [`cc::ALL`](super::cc::ALL).
    pub cc: &'static str,
}

/// All pairs.
pub const ALL: &[Variant] = &[
    Variant { name: "tahoe", recovery: "tahoe", cc: "reno" },
    Variant { name: "reno", recovery: "reno", cc: "reno" },
    Variant { name: "new-reno", recovery: "new-reno", cc: "reno" },
];

impl Variant {
    /// The pair called `name`.
    pub fn named(name: &str) -> Option<&'static Variant> {
        ALL.iter().find(|v| v.name == name)
    }

    /// The recovery entry.
    pub fn recovery(&self) -> &'static super::recovery::Spec {
        super::recovery::ALL
            .iter()
            .find(|s| s.name == self.recovery)
            .expect("a variant names a known recovery")
    }

    /// The congestion control entry.
    pub fn cc(&self) -> &'static super::cc::Spec {
        super::cc::ALL.iter().find(|s| s.name == self.cc).expect("a variant names a known congestion control")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_names_entries_that_exist() {
        for variant in ALL {
            assert_eq!(variant.recovery().name, variant.recovery);
            assert_eq!(variant.cc().name, variant.cc);
            assert_eq!(Variant::named(variant.name), Some(variant));
        }
    }
}
