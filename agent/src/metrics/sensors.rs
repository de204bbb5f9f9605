//! What a graphics card's own sensors say, where its driver shows them in sysfs (`hwmon`).

use super::percent;
use std::{fs, path::Path};

/// What a card does not tell stays empty: zero degrees or a fan at rest would be a statement.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Sensors {
    pub(super) temperature_c: Option<f64>,
    pub(super) clock_core_mhz: Option<f64>,
    pub(super) clock_memory_mhz: Option<f64>,
    pub(super) fan_percent: Option<f64>,
}

impl Sensors {
    /// Of the device with this folder, such as `/sys/bus/pci/devices/0000:03:00.0`.
    pub(super) fn read(device: &Path) -> Self {
        let entries = fs::read_dir(device.join("hwmon")).into_iter().flatten().flatten();
        let Some(hwmon) = entries.map(|entry| entry.path()).min() else { return Self::default() };
        let number = |name: &str| {
            let text = fs::read_to_string(hwmon.join(name)).ok()?;
            text.trim().parse::<f64>().ok().filter(|number| number.is_finite())
        };
        let share = |of: &str, whole: &str| {
            let whole = number(whole).filter(|whole| *whole > 0.0)?;
            Some(percent(number(of)? / whole * 100.0))
        };
        Self {
            temperature_c: number("temp1_input").map(|millidegrees| millidegrees / 1e3),
            clock_core_mhz: number("freq1_input").map(|hertz| hertz / 1e6),
            clock_memory_mhz: number("freq2_input").map(|hertz| hertz / 1e6),
            // The speed itself where the card counts turns, else what the fan is told to do.
            fan_percent: share("fan1_input", "fan1_max").or_else(|| share("pwm1", "pwm1_max")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(files: &[(&str, &str)]) -> Sensors {
        let device = tempfile::tempdir().unwrap();
        let hwmon = device.path().join("hwmon/hwmon3");
        fs::create_dir_all(&hwmon).unwrap();
        for (name, text) in files {
            fs::write(hwmon.join(name), text).unwrap();
        }
        Sensors::read(device.path())
    }

    #[test]
    fn sensors_of_a_card_are_read_in_the_units_of_a_snapshot() {
        let all = card(&[
            ("temp1_input", "61000\n"),
            ("freq1_input", "2105000000\n"),
            ("freq2_input", "875000000\n"),
            ("fan1_input", "1320\n"),
            ("fan1_max", "3300\n"),
            ("pwm1", "255\n"),
            ("pwm1_max", "255\n"),
        ]);
        let expected = Sensors {
            temperature_c: Some(61.0),
            clock_core_mhz: Some(2105.0),
            clock_memory_mhz: Some(875.0),
            fan_percent: Some(40.0),
        };
        assert_eq!(all, expected);
        assert_eq!(card(&[("pwm1", "51"), ("pwm1_max", "255")]).fan_percent, Some(20.0));
    }

    #[test]
    fn what_a_card_does_not_tell_is_absent_and_never_zero() {
        assert_eq!(Sensors::read(Path::new("/nonexistent")), Sensors::default());
        assert_eq!(card(&[]), Sensors::default());
        let odd = [("temp1_input", "N/A"), ("freq1_input", ""), ("fan1_input", "900"), ("fan1_max", "0")];
        assert_eq!(card(&odd), Sensors::default());
    }
}
