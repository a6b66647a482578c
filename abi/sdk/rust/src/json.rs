//! JSON as the host calls speak it, without a dependency. A [`Writer`] makes text,
//! [`parse`] a tree of [`Value`]s; [`Write`] and [`Read`] lead to and from types.

use alloc::{boxed::Box, format, string::String, vec::Vec};

/// Deeper input is refused, as the host refuses it.
const MAX_DEPTH: usize = 128;

/// One JSON value. A number is kept as it was written.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    #[default]
    Null,
    Bool(bool),
    Number(String),
    String(String),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Value {
    /// The member of that name, the last of several; null if there is none.
    pub fn get(&self, name: &str) -> &Value {
        match self {
            Value::Object(m) => m.iter().rev().find(|(k, _)| k == name).map_or(&Value::Null, |(_, v)| v),
            _ => &Value::Null,
        }
    }

    /// The member of that name as a type; what does not fit is that type's zero.
    pub fn field<T: Read>(&self, name: &str) -> T {
        T::read(self.get(name))
    }
}

/// What writes itself as JSON.
pub trait Write {
    fn write(&self, w: &mut Writer);
}

/// What reads itself from a value; of another kind it is zero.
pub trait Read {
    fn read(v: &Value) -> Self;
}

/// Gathers one JSON text.
#[derive(Default)]
pub struct Writer {
    text: String,
    more: bool,
}

impl Writer {
    pub fn open(&mut self) {
        self.raw("{");
        self.more = false;
    }
    pub fn close(&mut self) {
        self.raw("}");
        self.more = true;
    }
    pub fn raw(&mut self, json: &str) {
        self.text.push_str(json);
    }
    pub fn item(&mut self) {
        if self.more {
            self.raw(",");
        }
        self.more = true;
    }
    pub fn field<T: Write>(&mut self, name: &str, v: &T) {
        self.item();
        self.string(name);
        self.raw(":");
        v.write(self);
        self.more = true;
    }
    /// Leaves the member out if it is its type's zero.
    pub fn field_unless_zero<T: Write + Default + PartialEq>(&mut self, name: &str, v: &T) {
        if *v != T::default() {
            self.field(name, v);
        }
    }
    pub fn string(&mut self, s: &str) {
        self.raw("\"");
        for c in s.chars() {
            match c {
                '"' => self.raw("\\\""),
                '\\' => self.raw("\\\\"),
                '\0'..='\x1f' => self.raw(&format!("\\u{:04x}", c as u32)),
                _ => self.text.push(c),
            }
        }
        self.raw("\"");
    }
    pub fn finish(self) -> String {
        self.text
    }
}

/// The JSON text of a value.
pub fn to_string<T: Write>(v: &T) -> String {
    let mut w = Writer::default();
    v.write(&mut w);
    w.finish()
}

impl Write for Value {
    fn write(&self, w: &mut Writer) {
        match self {
            Value::Null => w.raw("null"),
            Value::Bool(b) => b.write(w),
            Value::Number(n) => w.raw(n),
            Value::String(s) => w.string(s),
            Value::List(l) => l.write(w),
            Value::Object(m) => m.write(w),
        }
    }
}

impl Read for Value {
    fn read(v: &Value) -> Self {
        v.clone()
    }
}

impl Write for String {
    fn write(&self, w: &mut Writer) {
        w.string(self);
    }
}

impl Read for String {
    fn read(v: &Value) -> Self {
        match v {
            Value::String(s) => s.clone(),
            _ => String::new(),
        }
    }
}

impl Write for bool {
    fn write(&self, w: &mut Writer) {
        w.raw(if *self { "true" } else { "false" });
    }
}

impl Read for bool {
    fn read(v: &Value) -> Self {
        *v == Value::Bool(true)
    }
}

macro_rules! number {
    ($t:ty) => {
        impl Write for $t {
            fn write(&self, w: &mut Writer) {
                w.raw(&format!("{}", self));
            }
        }

        impl Read for $t {
            fn read(v: &Value) -> Self {
                match v {
                    Value::Number(n) => n.parse().unwrap_or_default(),
                    _ => Self::default(),
                }
            }
        }
    };
}
number!(i64);
number!(f64);

impl<T: Write> Write for Vec<T> {
    fn write(&self, w: &mut Writer) {
        w.raw("[");
        w.more = false;
        for v in self {
            w.item();
            v.write(w);
            w.more = true;
        }
        w.raw("]");
        w.more = true;
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(v: &Value) -> Self {
        match v {
            Value::List(l) => l.iter().map(T::read).collect(),
            _ => Vec::new(),
        }
    }
}

/// An object with members of one type.
impl<T: Write> Write for Vec<(String, T)> {
    fn write(&self, w: &mut Writer) {
        w.open();
        for (k, v) in self {
            w.field(k, v);
        }
        w.close();
    }
}

impl<T: Read> Read for Vec<(String, T)> {
    fn read(v: &Value) -> Self {
        match v {
            Value::Object(m) => m.iter().map(|(k, v)| (k.clone(), T::read(v))).collect(),
            _ => Vec::new(),
        }
    }
}

impl<T: Write> Write for Option<Box<T>> {
    fn write(&self, w: &mut Writer) {
        match self {
            Some(v) => v.write(w),
            None => w.raw("null"),
        }
    }
}

impl<T: Read> Read for Option<Box<T>> {
    fn read(v: &Value) -> Self {
        match v {
            Value::Null => None,
            _ => Some(Box::new(T::read(v))),
        }
    }
}

/// The value that text is, or None if it is not one JSON value.
pub fn parse(text: &str) -> Option<Value> {
    let mut p = Parser { s: text, at: 0 };
    let v = p.value(0)?;
    p.space();
    (p.at == text.len()).then(|| v)
}

struct Parser<'a> {
    s: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> u8 {
        self.s.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
    }

    fn take(&mut self, word: &str) -> Option<()> {
        self.space();
        self.s.as_bytes()[self.at..].starts_with(word.as_bytes()).then(|| self.at += word.len())
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        self.space();
        if depth > MAX_DEPTH {
            return None;
        }
        match self.peek() {
            b'{' => self.object(depth),
            b'[' => self.list(depth),
            b'"' => self.string().map(Value::String),
            b't' => self.take("true").map(|_| Value::Bool(true)),
            b'f' => self.take("false").map(|_| Value::Bool(false)),
            b'n' => self.take("null").map(|_| Value::Null),
            _ => self.number(),
        }
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        let mut items = Vec::new();
        self.take("[")?;
        if self.take("]").is_some() {
            return Some(Value::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.take("]").is_some() {
                return Some(Value::List(items));
            }
            self.take(",")?;
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        let mut members = Vec::new();
        self.take("{")?;
        if self.take("}").is_some() {
            return Some(Value::Object(members));
        }
        loop {
            self.space();
            let name = self.string()?;
            self.take(":")?;
            members.push((name, self.value(depth + 1)?));
            if self.take("}").is_some() {
                return Some(Value::Object(members));
            }
            self.take(",")?;
        }
    }

    fn digits(&mut self) -> Option<()> {
        let from = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        (self.at > from).then(|| ())
    }

    fn number(&mut self) -> Option<Value> {
        let from = self.at;
        if self.peek() == b'-' {
            self.at += 1;
        }
        self.digits()?;
        if self.peek() == b'.' {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(Value::Number(self.s[from..self.at].into()))
    }

    fn string(&mut self) -> Option<String> {
        if self.peek() != b'"' {
            return None;
        }
        self.at += 1;
        let mut out = String::new();
        loop {
            let from = self.at;
            while self.at < self.s.len() && !matches!(self.peek(), b'"' | b'\\' | 0..=0x1f) {
                self.at += 1;
            }
            out.push_str(&self.s[from..self.at]);
            match self.peek() {
                b'"' => {
                    self.at += 1;
                    return Some(out);
                }
                b'\\' => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                _ => return None,
            }
        }
    }

    /// What follows a backslash. A surrogate without its other half is U+FFFD.
    fn escape(&mut self) -> Option<char> {
        self.at += 1;
        Some(match self.s.as_bytes()[self.at - 1..].first()? {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\x08',
            b'f' => '\x0c',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let high = self.hex()?;
                if (0xd800..0xdc00).contains(&high) && self.s.as_bytes()[self.at..].starts_with(b"\\u") {
                    let back = self.at;
                    self.at += 2;
                    let low = self.hex()?;
                    if (0xdc00..0xe000).contains(&low) {
                        return char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
                    }
                    self.at = back;
                }
                char::from_u32(high).unwrap_or('\u{fffd}')
            }
            _ => return None,
        })
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.s.as_bytes().get(self.at..self.at + 4)?;
        let mut n = 0;
        for d in digits {
            n = n << 4 | (*d as char).to_digit(16)?;
        }
        self.at += 4;
        Some(n)
    }
}
