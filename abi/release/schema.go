package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
)

// A Schema is an admitted JSON Schema of a tool's arguments or result. It is
// safe for concurrent use.
type Schema struct {
	compiled   *jsonschema.Schema
	simple     *simple // nil: it is not
	root       *node
	properties map[string][]string // of the root: the types of each
}

// CompileSchema admits a JSON Schema (draft 2020-12, type object) that a
// connector brought. It refuses whatever could make evaluation slow, load
// something, or mean different things to different readers: see admission.go for
// the closed set of keywords. The error is a [Problem] whose path starts at the
// schema.
func CompileSchema(raw json.RawMessage) (*Schema, error) {
	s, problem := compileSchema(raw)
	if problem != nil {
		return nil, *problem
	}
	return s, nil
}

func compileSchema(raw json.RawMessage) (*Schema, *Problem) {
	if err := strictjson.Check(raw, strictjson.MaxBytes(abi.MaxSchema), strictjson.MaxDepth(maxSchemaJSONDepth)); err != nil {
		p := located(err, nil)
		return nil, &p
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, &Problem{Path: "$", Msg: err.Error()}
	}
	a, root, problem := admit(doc)
	if problem != nil {
		return nil, problem
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(noLoader{})
	const name = "drawbridge:schema"
	if err := compiler.AddResource(name, doc); err != nil {
		return nil, &Problem{Path: "$", Msg: shorten(err.Error())}
	}
	compiled, err := compiler.Compile(name)
	if err != nil {
		return nil, &Problem{Path: "$", Msg: compileFault(err)}
	}
	return &Schema{compiled: compiled, simple: newSimple(compiled), root: root, properties: a.properties}, nil
}

// A noLoader refuses to load what a schema refers to.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("nothing is loaded for a schema") }

func compileFault(err error) string {
	if e, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if ve, ok := errors.AsType[*jsonschema.ValidationError](e.Err); ok {
			path, msg := firstFault(ve)
			return "not a schema: " + path + ": " + msg
		}
	}
	return shorten(err.Error())
}

// Validate holds a document against the schema, in bounded time. The error is an
// *abi.Error of code invalid_args, or limit_exceeded where the document is too
// large for the schema, and names the path; a host that checks a result changes
// the code to invalid_result. The document must have gone through package
// strictjson before.
func (s *Schema) Validate(doc []byte) error {
	if s.simple != nil && s.simple.fits(doc) {
		return nil
	}
	v, ok := strictjson.Value(doc)
	if !ok {
		return abi.Errorf(abi.ErrInvalidArgs, "", "not JSON")
	}
	return s.validate(v)
}

// validate leaves the verdict to the library.
func (s *Schema) validate(v any) error {
	if err := checkNumbers(v); err != nil {
		return err
	}
	m := meter{left: maxWork}
	if !m.visit(s.root, v) {
		return abi.Errorf(abi.ErrLimitExceeded, "", "the document is too large for its schema")
	}
	ve, unfit := errors.AsType[*jsonschema.ValidationError](s.compiled.Validate(v))
	if !unfit {
		return nil
	}
	path, msg := firstFault(ve)
	return abi.Errorf(abi.ErrInvalidArgs, "", "%s: %s", path, msg)
}

// CheckNumbers refuses numbers that cost much more than they look like.
func checkNumbers(v any) error {
	switch v := v.(type) {
	case json.Number:
		if !ordinary(v) {
			return abi.Errorf(abi.ErrInvalidArgs, "", "the number %q is out of range", shorten(v.String()))
		}
	case []any:
		for _, item := range v {
			if err := checkNumbers(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, item := range v {
			if err := checkNumbers(item); err != nil {
				return err
			}
		}
	}
	return nil
}

// FirstFault picks, among all leaves, the one whose path sorts first, so that
// the same document always gets the same message.
func firstFault(ve *jsonschema.ValidationError) (path, msg string) {
	leaf := firstLeaf(ve)
	msg = shorten(leaf.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
	if k, ok := leaf.ErrorKind.(*kind.Schema); ok {
		msg = "does not fit " + k.Location
	}
	return instancePath(leaf.InstanceLocation), msg
}

func firstLeaf(ve *jsonschema.ValidationError) *jsonschema.ValidationError {
	if len(ve.Causes) == 0 {
		return ve
	}
	// Of alternatives none fits: which one was meant can't be known.
	switch ve.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		return &jsonschema.ValidationError{InstanceLocation: ve.InstanceLocation, ErrorKind: noAlternative{}}
	}
	leaves := make([]*jsonschema.ValidationError, len(ve.Causes))
	for i, cause := range ve.Causes {
		leaves[i] = firstLeaf(cause)
	}
	return slices.MinFunc(leaves, func(a, b *jsonschema.ValidationError) int {
		if c := slices.Compare(a.InstanceLocation, b.InstanceLocation); c != 0 {
			return c
		}
		return slices.Compare(a.ErrorKind.KeywordPath(), b.ErrorKind.KeywordPath())
	})
}

// NoAlternative is the fault of anyOf and oneOf.
type noAlternative struct{}

func (noAlternative) KeywordPath() []string                   { return []string{"anyOf"} }
func (noAlternative) LocalizedString(*message.Printer) string { return "fits none of the alternatives" }

func instancePath(location []string) string {
	var b strings.Builder
	b.WriteByte('$')
	for _, part := range location {
		if isIndex(part) {
			fmt.Fprintf(&b, "[%s]", part)
		} else {
			b.WriteString("." + shorten(part))
		}
	}
	return b.String()
}

func isIndex(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
