package strictjson

import (
	"encoding/json"
	"reflect"
	"strconv"
)

// number walks a number, which has to fit its destination exactly.
func (w *walker) number(s shape) *Error {
	start := w.pos
	whole, err := w.scanNumber()
	if err != nil {
		return err
	}
	lit := w.data[start:w.pos]
	switch s.kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return w.integer(lit, whole, func(n int64) bool { return !reflect.Zero(s.t).OverflowInt(n) })
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return w.integer(lit, whole, func(n int64) bool { return n >= 0 && !reflect.Zero(s.t).OverflowUint(uint64(n)) })
	case reflect.Float32:
		return w.float(lit, 32)
	case reflect.Float64, reflect.Invalid:
		return w.float(lit, 64)
	case reflect.String:
		if !s.text && s.t == reflect.TypeFor[json.Number]() {
			return w.float(lit, 64)
		}
	}
	return w.wrong(WrongType, s, "a number")
}

// maxInteger is the largest integer that every reader of JSON has exactly.
const maxInteger = 1<<53 - 1

func (w *walker) integer(lit []byte, whole bool, fits func(int64) bool) *Error {
	if !whole {
		return w.fail(NotInteger, lit)
	}
	n, err := strconv.ParseInt(string(lit), 10, 64)
	if err != nil || n > maxInteger || n < -maxInteger || !fits(n) {
		return w.fail(OutOfRange, lit)
	}
	if n == 0 && lit[0] == '-' {
		return w.fail(NotInteger, lit)
	}
	return nil
}

func (w *walker) float(lit []byte, bits int) *Error {
	if bits == 64 && len(lit) < 300 && !hasExponent(lit) {
		return nil // below 10^300: no need to parse it twice
	}
	if _, err := strconv.ParseFloat(string(lit), bits); err != nil {
		return w.fail(OutOfRange, lit)
	}
	return nil
}

// scanNumber scans a number and reports whether it is written as an integer.
func (w *walker) scanNumber() (whole bool, err *Error) {
	if w.data[w.pos] == '-' {
		w.pos++
	}
	if w.pos < len(w.data) && w.data[w.pos] == '0' {
		w.pos++
	} else if !w.digits() {
		return false, w.syntax("expected a digit")
	}
	whole = true
	if w.pos < len(w.data) && w.data[w.pos] == '.' {
		whole = false
		w.pos++
		if !w.digits() {
			return false, w.syntax("expected a digit after the point")
		}
	}
	if w.pos < len(w.data) && (w.data[w.pos]|0x20) == 'e' {
		whole = false
		w.pos++
		if w.pos < len(w.data) && (w.data[w.pos] == '+' || w.data[w.pos] == '-') {
			w.pos++
		}
		if !w.digits() {
			return false, w.syntax("expected a digit in the exponent")
		}
	}
	return whole, nil
}

// digits skips digits and reports whether there was one.
func (w *walker) digits() bool {
	start := w.pos
	for w.pos < len(w.data) && isDigit(w.data[w.pos]) {
		w.pos++
	}
	return w.pos > start
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func hasExponent(lit []byte) bool {
	for _, c := range lit {
		if c|0x20 == 'e' {
			return true
		}
	}
	return false
}
