package origin

import "github.com/drawbridge-mcp/drawbridge/abi"

// defaultMaxLen is the length of a value whose parameter gives none, in bytes.
const defaultMaxLen = 256

// ValidValue reports whether a decoded value is one of the type, in at most
// maxLen bytes; 0 stands for the default, 256. An unknown type has no values.
func ValidValue(t abi.ValueType, maxLen int, v string) bool {
	if maxLen <= 0 {
		maxLen = defaultMaxLen
	}
	if len(v) > maxLen {
		return false
	}
	switch t {
	case abi.ValueInt:
		return isInt(v)
	case abi.ValueSlug:
		return isSlug(v)
	case abi.ValueHex:
		return v != "" && onlyBytes(v, func(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' })
	case abi.ValueText:
		return CleanText(v)
	}
	return false
}

// isInt takes 0, or a digit 1 to 9 and up to 17 more.
func isInt(v string) bool {
	if v == "" || len(v) > 18 || v[0] == '0' && v != "0" {
		return false
	}
	return onlyBytes(v, isDigit)
}

// isSlug takes letters, digits, _ and -, and single dots between them.
func isSlug(v string) bool {
	dot := true // at the start a dot would follow nothing
	for i := range len(v) {
		switch c := v[i]; {
		case c == '.' && !dot:
			dot = true
		case isDigit(c), c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == '-':
			dot = false
		default:
			return false
		}
	}
	return !dot
}

func onlyBytes(v string, ok func(byte) bool) bool {
	for i := range len(v) {
		if !ok(v[i]) {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
