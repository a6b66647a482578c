package guard

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/origin"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
)

// An arg is an argument of the call as text. Only strings, numbers and booleans
// have one.
type arg struct {
	text   string
	scalar bool
}

// parseArgs reads the arguments. null counts as absent.
func parseArgs(data json.RawMessage) (map[string]arg, error) {
	args := map[string]arg{}
	if len(data) == 0 {
		return args, nil
	}
	var raw map[string]json.RawMessage
	if err := strictjson.Decode(data, &raw, strictjson.MaxBytes(abi.MaxArgs), strictjson.AnyText()); err != nil {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "guard", "reading arguments: %w", err)
	}
	for name, v := range raw {
		text, scalar, err := scalarText(v)
		if err != nil {
			return nil, abi.Errorf(abi.ErrInvalidArgs, "guard", "reading argument %q: %w", name, err)
		}
		if string(v) != "null" {
			args[name] = arg{text: text, scalar: scalar}
		}
	}
	return args, nil
}

// scalarText returns a checked JSON value as it would stand in a form: strings
// as they are, numbers and booleans as they are written.
func scalarText(v json.RawMessage) (text string, scalar bool, err error) {
	switch v[0] {
	case '{', '[', 'n':
		return "", false, nil
	case '"':
		err = json.Unmarshal(v, &text)
		return text, true, err
	}
	return string(v), true, nil
}

// A bound is a parameter with the call's arguments put in.
type bound struct {
	param abi.Param
	name  string // on the wire; with abi.AnyNumber, what stands before it
	after string // what stands after abi.AnyNumber
	open  bool   // the name has abi.AnyNumber
	want  string // with Arg: the argument
	err   error  // why no value is accepted
}

// bindAll puts the arguments into a set of parameters. The names of path
// parameters are the template's and stand for themselves.
func bindAll(entry string, params []abi.Param, args map[string]arg, inPath bool) ([]bound, error) {
	set := make([]bound, 0, len(params))
	for _, p := range params {
		if err := checkParam(p, inPath); err != nil {
			return nil, malformed(entry, fmt.Errorf("parameter %q: %w", p.Name, err))
		}
		b, err := bind(p, args, inPath)
		if err != nil {
			return nil, malformed(entry, err)
		}
		if slices.ContainsFunc(set, func(other bound) bool { return other.name == b.name && other.after == b.after && other.open == b.open }) {
			return nil, abi.Errorf(abi.ErrInvalidArgs, "guard", "two fields of %s become %q with these arguments", entry, b.name)
		}
		set = append(set, b)
	}
	return set, nil
}

// checkParam asks for exactly one constraint.
func checkParam(p abi.Param, inPath bool) error {
	n := 0
	for _, given := range []bool{p.Arg != "", p.Const != nil, p.Empty, p.Token, p.Any != ""} {
		if given {
			n++
		}
	}
	switch {
	case p.Name == "":
		return errors.New("it has no name")
	case n != 1:
		return fmt.Errorf("%d constraints, want one of arg, const, empty, token and any", n)
	case inPath && (p.Empty || p.Optional):
		return errors.New("a part of a path is neither empty nor optional")
	case strings.Contains(p.Name, abi.AnyNumber) && (inPath || !p.Optional || p.Const == nil && !p.Empty):
		return errors.New("a name with any number is an optional field's, const or empty")
	}
	switch p.Transform {
	case "", abi.TransformExact, abi.TransformTrimmed, abi.TransformHTML, abi.TransformEditor:
		return nil
	}
	return fmt.Errorf("transform %q", p.Transform)
}

// bind puts the arguments into one parameter. An argument that is absent binds to
// the empty text; one that has no text, or that a name can't be made of, leaves
// a parameter that accepts nothing.
func bind(p abi.Param, args map[string]arg, inPath bool) (bound, error) {
	b := bound{param: p, name: p.Name}
	if !inPath {
		var err error
		var after string
		b.name, after, b.open = strings.Cut(p.Name, abi.AnyNumber)
		if b.name, b.err, err = expandName(b.name, args); err != nil {
			return bound{}, err
		}
		var unusable error
		if b.after, unusable, err = expandName(after, args); err != nil {
			return bound{}, err
		}
		b.err = cmp.Or(b.err, unusable)
	}
	if a, given := args[p.Arg]; p.Arg != "" && given {
		b.want = a.text
		if !a.scalar {
			b.err = fmt.Errorf("is bound to the argument %q, which is neither text, number nor boolean", p.Arg)
		}
	}
	return b, nil
}

// named reports whether the parameter is the one of that name.
func (b bound) named(name string) bool {
	if !b.open {
		return name == b.name
	}
	rest, ok := strings.CutPrefix(name, b.name)
	number, okToo := strings.CutSuffix(rest, b.after)
	return ok && okToo && origin.ValidValue(abi.ValueInt, 0, number)
}

// expandName puts arguments into a field's name. Only slugs may become part of a
// name, so that an argument never chooses the field.
func expandName(name string, args map[string]arg) (expanded string, unusable, err error) {
	var b strings.Builder
	for rest := name; rest != ""; {
		literal, after, open := strings.Cut(rest, "{")
		b.WriteString(literal)
		if !open {
			break
		}
		key, tail, closed := strings.Cut(after, "}")
		if !closed || key == "" {
			return "", nil, fmt.Errorf("name %q: a brace is not closed", name)
		}
		a := args[key]
		if !a.scalar || !origin.ValidValue(abi.ValueSlug, 0, a.text) {
			unusable = fmt.Errorf("has the argument %q in its name, which is no plain word or number", key)
		}
		b.WriteString(a.text)
		rest = tail
	}
	return b.String(), unusable, nil
}

// accept returns nil if the value is what the parameter asks for, and otherwise
// words that follow the parameter's name.
func (b bound) accept(v string, tokens func(string) bool) error {
	p := b.param
	switch {
	case b.err != nil:
		return b.err
	case p.Arg != "":
		if !b.equal(v) {
			return fmt.Errorf("differs from the argument %q", p.Arg)
		}
	case p.Const != nil:
		if lines(v) != lines(*p.Const) {
			return fmt.Errorf("is not %q", shorten(*p.Const))
		}
	case p.Empty:
		if v != "" {
			return errors.New("is not empty")
		}
	case p.Token:
		if v == "" || tokens == nil || !tokens(v) {
			return errors.New("is not a value that the page holds")
		}
	default:
		if !origin.ValidValue(p.Any, p.MaxLen, v) {
			return fmt.Errorf("is not of type %s, or too long", p.Any)
		}
	}
	return nil
}

// equal compares a value on the wire with the argument.
func (b bound) equal(v string) bool {
	v, want := lines(v), lines(b.want)
	switch b.param.Transform {
	case abi.TransformTrimmed:
		return v == strings.TrimSpace(want)
	case abi.TransformHTML:
		quotes := strings.NewReplacer("&quot;", "&#34;", "&apos;", "&#39;", "&#039;", "&#39;")
		return quotes.Replace(v) == html.EscapeString(want)
	case abi.TransformEditor:
		text, ok := editorText(v)
		return ok && text == typed(want)
	case abi.TransformExact:
		return v == want
	}
	return v == want
}

// lines writes every line end as LF: form submission turns LF and CR into CRLF.
func lines(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}
