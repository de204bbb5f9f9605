//! A snapshot as it is kept: checked, reduced to the known fields, and as text, so that numbers
//! come back digit for digit and nothing is serialized twice.

use super::bucket::{GpuSample, Sample};
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::value::RawValue;

const CORES_MAX: usize = 256;
const GPUS_MAX: usize = 64;
const NUMBER_DIGITS_MAX: usize = 32;
const LABEL_BYTES_MAX: usize = 255;
/// How far ahead of the hub's clock a node's may be.
const AHEAD_MS_MAX: i64 = 24 * 60 * 60 * 1000;

const PERCENT_MAX: f64 = 1000.0;
const AMOUNT_MAX: f64 = 1e12;

/// What is wrong with a snapshot, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    pub field: String,
    pub why: String,
}

fn invalid(field: impl Into<String>, why: impl Into<String>) -> Invalid {
    Invalid { field: field.into(), why: why.into() }
}

/// A number with the digits it was sent with.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
struct Number {
    text: Box<RawValue>,
    #[serde(skip)]
    value: f64,
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let digits = text.get();
        if !digits.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
            return Err(de::Error::custom("expected a number"));
        }
        if digits.len() > NUMBER_DIGITS_MAX {
            return Err(de::Error::custom(format!("a number must have at most {NUMBER_DIGITS_MAX} digits")));
        }
        let value = digits.parse::<f64>().ok().filter(|value| value.is_finite());
        let value = value.ok_or_else(|| de::Error::custom("this number is too large"))?;
        Ok(Self { text, value })
    }
}

impl Number {
    fn within(&self, field: impl Into<String>, least: f64, most: f64) -> Result<(), Invalid> {
        if (least..=most).contains(&self.value) {
            return Ok(());
        }
        Err(invalid(field, format!("must be between {least} and {most}")))
    }
}

/// The wire form of one measurement; fields not named here are dropped.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Measured {
    pub(super) timestamp: i64,
    cpu: Number,
    #[serde(default)]
    cpu_cores: Vec<Number>,
    memory: Memory,
    disk: Disk,
    network: Network,
    load: Load,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gpus: Option<Vec<Gpu>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Memory {
    percent: Number,
    used: Number,
    total: Number,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Disk {
    read: Number,
    write: Number,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Network {
    rx: Number,
    tx: Number,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Load {
    avg1: Number,
    avg5: Number,
    avg15: Number,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Gpu {
    index: u32,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    vendor: Option<String>,
    #[serde(default)]
    vram_total: Option<Number>,
    #[serde(default)]
    vram_used: Option<Number>,
    #[serde(default)]
    utilization_gpu: Option<Number>,
    #[serde(default)]
    utilization_memory: Option<Number>,
    #[serde(default)]
    clock_core: Option<Number>,
    #[serde(default)]
    clock_memory: Option<Number>,
    #[serde(default)]
    temperature_gpu: Option<Number>,
    #[serde(default)]
    fan_speed: Option<Number>,
}

impl Measured {
    pub(super) fn sample(&self) -> Sample {
        let Self { cpu, memory, disk, network, load, .. } = self;
        let Memory { percent, used, .. } = memory;
        let numbers = [cpu, percent, used, &disk.read, &disk.write, &network.rx, &network.tx, &load.avg1];
        let short = |number: &Number| number.value as f32;
        Sample {
            values: numbers.map(short),
            cores: self.cpu_cores.iter().map(short).collect(),
            gpus: self
                .gpus
                .iter()
                .flatten()
                .map(|gpu| GpuSample {
                    index: gpu.index,
                    model: gpu.model.as_deref().map(Into::into),
                    utilization: gpu.utilization_gpu.as_ref().map(short),
                    vram_used: gpu.vram_used.as_ref().map(short),
                })
                .collect(),
        }
    }

    fn check(&self, now_ms: i64) -> Result<(), Invalid> {
        if self.timestamp < 0 {
            return Err(invalid("timestamp", "must be milliseconds since 1970, not negative"));
        }
        if self.timestamp > now_ms.saturating_add(AHEAD_MS_MAX) {
            return Err(invalid(
                "timestamp",
                "is more than a day ahead of the hub's clock; set this machine's",
            ));
        }
        self.cpu.within("cpu", 0.0, PERCENT_MAX)?;
        if self.cpu_cores.len() > CORES_MAX {
            return Err(invalid("cpuCores", format!("must have at most {CORES_MAX} entries")));
        }
        for (i, core) in self.cpu_cores.iter().enumerate() {
            core.within(format!("cpuCores[{i}]"), 0.0, PERCENT_MAX)?;
        }
        self.memory.percent.within("memory.percent", 0.0, PERCENT_MAX)?;
        for (field, number) in [
            ("memory.used", &self.memory.used),
            ("memory.total", &self.memory.total),
            ("disk.read", &self.disk.read),
            ("disk.write", &self.disk.write),
            ("network.rx", &self.network.rx),
            ("network.tx", &self.network.tx),
            ("load.avg1", &self.load.avg1),
            ("load.avg5", &self.load.avg5),
            ("load.avg15", &self.load.avg15),
        ] {
            number.within(field, 0.0, AMOUNT_MAX)?;
        }
        let gpus = self.gpus.as_deref().unwrap_or_default();
        if gpus.len() > GPUS_MAX {
            return Err(invalid("gpus", format!("must have at most {GPUS_MAX} entries")));
        }
        gpus.iter().enumerate().try_for_each(|(i, gpu)| gpu.check(&format!("gpus[{i}]")))
    }
}

impl Gpu {
    fn check(&self, path: &str) -> Result<(), Invalid> {
        for (field, label) in [("model", &self.model), ("vendor", &self.vendor)] {
            if label.as_ref().is_some_and(|label| label.len() > LABEL_BYTES_MAX) {
                return Err(invalid(
                    format!("{path}.{field}"),
                    format!("must be at most {LABEL_BYTES_MAX} bytes"),
                ));
            }
        }
        for (field, number, least, most) in [
            ("vramTotal", &self.vram_total, 0.0, AMOUNT_MAX),
            ("vramUsed", &self.vram_used, 0.0, AMOUNT_MAX),
            ("utilizationGpu", &self.utilization_gpu, 0.0, PERCENT_MAX),
            ("utilizationMemory", &self.utilization_memory, 0.0, PERCENT_MAX),
            ("clockCore", &self.clock_core, 0.0, AMOUNT_MAX),
            ("clockMemory", &self.clock_memory, 0.0, AMOUNT_MAX),
            ("temperatureGpu", &self.temperature_gpu, -273.15, 10_000.0),
            ("fanSpeed", &self.fan_speed, 0.0, PERCENT_MAX),
        ] {
            if let Some(number) = number {
                number.within(format!("{path}.{field}"), least, most)?;
            }
        }
        Ok(())
    }
}

const PREFIX: &str = "data: ";
const SUFFIX: &str = "\n\n";

/// Wraps one line of JSON into a message of an event stream.
pub(super) fn framed(write: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    let mut message = PREFIX.as_bytes().to_vec();
    write(&mut message);
    message.extend_from_slice(SUFFIX.as_bytes());
    // Hundreds of these are kept for each node: give back what the vector set aside.
    message.into_boxed_slice().into()
}

pub(super) fn unframed(message: &Bytes) -> Bytes {
    message.slice(PREFIX.len()..message.len() - SUFFIX.len())
}

/// One measurement, kept as the message that its watchers get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub timestamp: i64,
    message: Bytes,
}

impl Snapshot {
    pub fn new(measured: &Measured, now_ms: i64) -> Result<Self, Invalid> {
        measured.check(now_ms)?;
        Ok(Self::unchecked(measured))
    }

    /// One that was checked before it was stored.
    pub fn from_stored(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok().map(|measured| Self::unchecked(&measured))
    }

    fn unchecked(measured: &Measured) -> Self {
        let message = framed(|out| {
            serde_json::to_writer(out, measured).expect("numbers and strings are always JSON");
        });
        Self { timestamp: measured.timestamp, message }
    }

    /// As an event stream carries it.
    pub fn message(&self) -> Bytes {
        self.message.clone()
    }

    pub fn json(&self) -> Bytes {
        unframed(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_700_000_000_000;

    fn sample(edit: impl FnOnce(&mut serde_json::Value)) -> Result<Snapshot, String> {
        let mut value = serde_json::json!({
            "timestamp": NOW, "cpu": 12.5, "cpuCores": [10, 15],
            "memory": {"percent": 50, "used": 8, "total": 16},
            "disk": {"read": 0, "write": 1.5}, "network": {"rx": 0.1, "tx": 0.2},
            "load": {"avg1": 0.5, "avg5": 0.4, "avg15": 0.3},
        });
        edit(&mut value);
        let measured: Measured = serde_json::from_value(value).map_err(|error| error.to_string())?;
        Snapshot::new(&measured, NOW).map_err(|invalid| invalid.field)
    }

    #[test]
    fn numbers_come_back_digit_for_digit_and_unknown_fields_do_not() {
        let sent = r#"{"timestamp":1,"cpu":10.50,"cpuCores":[7,1e1],"memory":{"percent":50,"used":0.10,"total":16.000},"disk":{"read":0,"write":0.0},"network":{"rx":1E2,"tx":3},"load":{"avg1":1,"avg5":2,"avg15":0.333333333333333333},"gpus":[{"index":0,"model":"A \"B\"","vendor":null,"vramTotal":8192,"vramUsed":null,"utilizationGpu":3.0,"utilizationMemory":null,"clockCore":null,"clockMemory":null,"temperatureGpu":-4,"fanSpeed":null}]}"#;
        let more = sent.replacen('{', r#"{"hostname":"x","extra":{"deep":[1]},"#, 1);
        let measured: Measured = serde_json::from_str(&more).unwrap();
        assert_eq!(Snapshot::new(&measured, NOW).unwrap().json(), sent.as_bytes());
    }

    #[test]
    fn a_good_snapshot_passes() {
        assert!(sample(|_| {}).is_ok());
        assert!(sample(|value| value["gpus"] = serde_json::Value::Null).is_ok());
        assert!(sample(|value| value["timestamp"] = (NOW + AHEAD_MS_MAX).into()).is_ok());
    }

    #[test]
    fn absurd_values_are_refused_by_field() {
        let field = |edit: fn(&mut serde_json::Value)| sample(edit).unwrap_err();
        assert_eq!(field(|v| v["timestamp"] = (-1).into()), "timestamp");
        assert_eq!(field(|v| v["timestamp"] = (NOW + AHEAD_MS_MAX + 1).into()), "timestamp");
        assert_eq!(field(|v| v["cpu"] = (-1).into()), "cpu");
        assert_eq!(field(|v| v["cpu"] = 1e300.into()), "cpu");
        assert_eq!(field(|v| v["cpuCores"] = vec![1; 257].into()), "cpuCores");
        assert_eq!(field(|v| v["cpuCores"][1] = (-3).into()), "cpuCores[1]");
        assert_eq!(field(|v| v["memory"]["used"] = (-3).into()), "memory.used");
        assert_eq!(field(|v| v["gpus"] = vec![serde_json::json!({"index": 0}); 65].into()), "gpus");
        let named = |v: &mut serde_json::Value| {
            v["gpus"] = serde_json::json!([{"index": 0, "model": "x".repeat(256)}]);
        };
        assert_eq!(field(named), "gpus[0].model");
        assert!(field(|v| v["cpu"] = "12".into()).contains("expected a number"));
        assert!(field(|v| v["cpu"] = serde_json::Value::Null).contains("expected a number"));
    }

    #[test]
    fn endless_digits_are_refused() {
        let long = format!(r#"{{"timestamp":1,"cpu":0.{}}}"#, "1".repeat(100));
        let error = serde_json::from_str::<Measured>(&long).unwrap_err();
        assert!(error.to_string().contains("at most 32 digits"), "{error}");
    }
}
