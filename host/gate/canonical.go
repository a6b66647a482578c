package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/gowebpki/jcs"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
)

// Canonical returns arguments in the JSON Canonicalization Scheme (RFC 8785);
// nil is {}. It refuses with invalid_args what is not an object, is larger or
// deeper than abi's limits, holds a key twice, or holds a number that the
// scheme would change: it knows doubles only, so that 9007199254740993 and
// 9007199254740992 would pass for one another. What runs must be the bytes
// that this returns.
func Canonical(args json.RawMessage) (json.RawMessage, error) {
	if args == nil {
		return json.RawMessage("{}"), nil
	}
	// Text and keys are data, and may hold anything. Its limit of depth comes
	// before anything that recurses.
	err := strictjson.Check(args, strictjson.MaxBytes(abi.MaxArgs), strictjson.AnyText(), strictjson.AnyKeys())
	if err != nil {
		// A path of many levels would make a message of many pages.
		return nil, &abi.Error{Code: abi.ErrInvalidArgs, Msg: fmt.Sprintf("arguments are refused: %.200s", err), Err: err}
	}
	if trimmed := bytes.TrimLeft(args, " \t\r\n"); trimmed[0] != '{' {
		return nil, invalidArgs("arguments are not a JSON object")
	}
	if err := checkNumbers(args); err != nil {
		return nil, err
	}
	out, err := jcs.Transform(args)
	if err != nil {
		return nil, invalidArgs("arguments have no canonical form: %w", err)
	}
	return out, nil
}

func invalidArgs(format string, args ...any) error {
	return abi.Errorf(abi.ErrInvalidArgs, "", format, args...)
}

// checkNumbers looks for numbers that have no exact canonical form.
func checkNumbers(args []byte) error {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return invalidArgs("arguments are not JSON: %w", err)
		}
		if n, ok := tok.(json.Number); ok && !isExact(n.String()) {
			return invalidArgs("number %.40q can't be represented exactly: pass it as a string", n.String())
		}
	}
}

// isExact reports whether the canonical form of a number has its value.
func isExact(literal string) bool {
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return false
	}
	canonical, err := jcs.NumberToJSON(f)
	if err != nil {
		return false
	}
	want, ok := parseDecimal(literal)
	got, ok2 := parseDecimal(canonical)
	return ok && ok2 && want == got
}

// A decimal is digits × 10^exp. Zero has no digits, and no sign.
type decimal struct {
	negative bool
	digits   string // neither begins nor ends with 0
	exp      int
}

// parseDecimal reads a number of JSON. Numbers with an absurd exponent are
// refused, not computed.
func parseDecimal(s string) (decimal, bool) {
	var d decimal
	s, d.negative = strings.CutPrefix(s, "-")
	mantissa, exponent := s, ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent = s[:i], s[i+1:]
	}
	if exponent != "" {
		n, err := strconv.ParseInt(exponent, 10, 16)
		if err != nil {
			return decimal{}, false
		}
		d.exp = int(n)
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	d.exp -= len(fraction)
	digits := strings.TrimLeft(whole+fraction, "0")
	d.digits = strings.TrimRight(digits, "0")
	if d.digits == "" {
		return decimal{}, true
	}
	d.exp += len(digits) - len(d.digits)
	return d, true
}
